# make install: copies halflife, which is built already, to $(DESTDIR)$(PREFIX). No compiler is needed.

PREFIX  ?= /usr/local
DESTDIR ?=

.PHONY: install uninstall

install:
	@umask 022 && mkdir -p "$(DESTDIR)$(PREFIX)" && cp -R bin share "$(DESTDIR)$(PREFIX)"
	@missing=$$(ldd bin/halflife 2>&1 | grep 'not found'); [ -z "$$missing" ] || \
		printf 'halflife does not run on this machine until it has these libraries:\n%s\n' "$$missing" >&2

uninstall:
	@find bin share ! -type d | while read -r file; do rm -f "$(DESTDIR)$(PREFIX)/$$file"; done
