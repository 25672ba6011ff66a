"""Compares the import lines of each target with the dependencies that the manifest gives it.

Reads `swift package dump-package` from standard input. SwiftPM itself lets a target import whatever
happens to be built; the layers hold only because of this check.
"""

import json
import pathlib
import re
import sys

IMPORT = re.compile(r"^\s*(?:@\w+\s+)*(?:public |package |internal |private |fileprivate )?import (?:\w+ )?(\w+)")

package = json.load(sys.stdin)
targets = {target["name"]: target for target in package["targets"]}
problems = []

for name, target in targets.items():
    if target["type"] == "system":
        continue
    allowed = {next(iter(dependency.values()))[0] for dependency in target["dependencies"]}
    root = "Tests" if target["type"] == "test" else "Sources"
    directory = pathlib.Path(target.get("path") or f"{root}/{name}")
    used = set()
    for file in sorted(directory.rglob("*.swift")):
        for number, line in enumerate(file.read_text().splitlines(), 1):
            match = IMPORT.match(line)
            module = match and match.group(1)
            if module not in targets or module == name:
                continue
            used.add(module)
            if module not in allowed:
                problems.append(f"{file}:{number}: {name} imports {module}, which is not below it")
    # What is written in C includes headers and imports nothing.
    if not any(directory.rglob("*.swift")):
        continue
    # Tests depend on a program to have it built; nobody can import one.
    for module in sorted(allowed - used):
        if targets.get(module, {}).get("type") == "executable":
            continue
        problems.append(f"Package.swift: {name} depends on {module} and does not import it")

# AttributeModel is rules without I/O: of the system it knows errors alone.
for file in sorted(pathlib.Path("Sources/AttributeModel").rglob("*.swift")):
    for number, line in enumerate(file.read_text().splitlines(), 1):
        if re.search(r"\b(FileDescriptor|FileName|FileStatus|Processes)\b", line):
            problems.append(f"{file}:{number}: AttributeModel does no input or output")

print("\n".join(problems), file=sys.stderr, end="\n" if problems else "")
sys.exit(1 if problems else 0)
