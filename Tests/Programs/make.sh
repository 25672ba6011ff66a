#!/bin/bash
# Proves that make, gcc, ar and ld build a C project on the mount, in parallel, with a library and generated
# sources; that nothing is made twice, and after a change only what depends on it, by times alone.
set -euo pipefail
# shellcheck source=common.bash
. "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
begin "$@"
need make make
need gcc gcc
cd "$work"

count=24
mkdir src include
printf 'int sum(void);\n#define BASE 1000\n' >include/project.h
printf '#include <stdio.h>\n#include "project.h"\nint main(void) { printf("%%d\\n", sum()); return 0; }\n' >src/main.c
{
  printf '#include "project.h"\n'
  for ((i = 0; i < count; i++)); do printf 'int part%d(void);\n' "$i"; done
  printf 'int sum(void) { return BASE'
  for ((i = 0; i < count; i++)); do printf ' + part%d()' "$i"; done
  printf '; }\n'
} >src/sum.c
for ((i = 0; i < count; i++)); do
  printf 'int part%d(void) { return %d; }\n' "$i" "$i" >"src/part$i.c"
done
cat >Makefile <<'END'
objects := $(patsubst src/%.c,build/%.o,$(filter-out src/main.c,$(wildcard src/*.c)))
build/program: build/main.o build/libproject.a
	$(CC) -o $@ $^
build/libproject.a: $(objects) build/generated.o
	rm -f $@
	ar rcs $@ $^
build/generated.c: Makefile | build
	printf 'int generated(void) { return 7; }\n' >$@
build/generated.o: build/generated.c
	$(CC) -c -o $@ $<
build/%.o: src/%.c | build
	$(CC) -Iinclude -MMD -g -c -o $@ $<
build:
	mkdir build
clean:
	rm -r build
-include $(wildcard build/*.d)
END
make() { timeout 120 make --no-print-directory CC=gcc -j 2 "$@"; }
# compiled: the objects that make says it compiles.
compiled() { make | sed -n 's/^gcc.* -c -o build\/\([a-z0-9]*\)\.o .*/\1/p' | sort | paste -s -d ' '; }

made=$(compiled)
expect_equal 'files compiled at first' $((count + 3)) "$(wc -w <<<"$made")"
expect_equal 'what the program prints' $((1000 + count * (count - 1) / 2)) "$(build/program)"
expect_equal 'make when all is made' "make: 'build/program' is up to date." "$(make)"

# changed FILE: gives the file a time later than the program's, however coarse the clock is.
changed() {
  # shellcheck disable=SC2016 # the inner shell expands it
  await 10 'time never gets later' bash -c 'touch "$1" && [[ $1 -nt build/program ]]' . "$1"
}
sum=$((count * (count - 1) / 2))
sed -i 's/return 5;/return 50;/' src/part5.c
changed src/part5.c
expect_equal 'compiled after one source changed' part5 "$(compiled)"
expect_equal 'what the program prints after it' $((1045 + sum)) "$(build/program)"
expect_equal 'make after it' "make: 'build/program' is up to date." "$(make)"
sed -i 's/1000/2000/' include/project.h
changed include/project.h
expect_equal 'compiled after a header changed' 'main sum' "$(compiled)"
expect_equal 'what the program prints at last' $((2045 + sum)) "$(build/program)"
rm build/part7.o
expect_equal 'compiled after an object was removed' part7 "$(compiled)"
expect_equal 'make after that' "make: 'build/program' is up to date." "$(make)"

# A time set to the nanosecond is kept to the nanosecond.
touch -d '2001-02-03 04:05:06.123456789' src/main.c
expect_equal 'a time with nanoseconds' '981173106.123456789' "$(stat -c %.9Y src/main.c)"
make clean >"$scratch/log"
[[ ! -e build ]] || fail 'make clean left build'
made=$(compiled)
expect_equal 'files compiled from nothing' $((count + 3)) "$(wc -w <<<"$made")"
finish
