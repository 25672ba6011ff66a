import Glibc

/// What a program might do, and all kinds of it: the steps in which every call fails once.
enum FaultScenario {
  static let steps: [ModelAction] = [
    .mkdir("d"), .mkdir("d/e"), .create("f"), .write("f", at: 0, count: 3000, byte: 1),
    .set("f", "user.a", size: 100, byte: 1, flags: 0),
    .set("f", "user.b", size: 2000, byte: 2, flags: 0),
    .set("f", "user.a", size: 50, byte: 3, flags: 2), .get("f", "user.a"), .list("f"),
    .set("d", "user.d", size: 10, byte: 4, flags: 1), .create("d/g"),
    .set("d/g", "trusted.g", size: 10, byte: 5, flags: 0), .rename("f", "d/e/f", flags: 0),
    .list("d/e/f"), .remove("d/e/f", "user.b"), .link("d/e/f", "h"), .unlink("d/e/f"),
    .list("h"), .rename("h", "d/g", flags: 2), .list("h"), .rename("h", "d/g", flags: 0),
    .list("d/g"), .truncate("d/g", size: 10), .read("d/g"), .chmod("d/g", 0o600),
    .symlink("d/g", "s"), .fifo("p"), .set("p", "trusted.p", size: 3, byte: 6, flags: 0),
    .names("d"), .names("."), .open(0, "d/g"), .unlink("d/g"),
    .setOpen(0, "user.late", size: 20, byte: 7), .listOpen(0),
    .writeOpen(0, at: 10, count: 10, byte: 8), .sync(0), .close(0), .temporary(1, "d"),
    .setOpen(1, "user.t", size: 20, byte: 9), .linkOpen(1, "d/t"), .close(1), .list("d/t"),
    .create("d/e/x"), .set("d/e/x", "user.x", size: 1, byte: 1, flags: 0), .unlink("d/e/x"),
    .rmdir("d/e"), .mkdir("d/e"), .list("d/e"), .create("f"), .list("f"),
  ]
}
