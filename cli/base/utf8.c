// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/utf8.h"

long utf8_next(const char **at)
{
	static const long least[] = { 0, 0x80, 0x800, 0x10000 };
	const unsigned char *s = (const unsigned char *)*at;
	int more = s[0] < 0x80 ? 0 : (s[0] & 0xe0) == 0xc0 ? 1 :
		(s[0] & 0xf0) == 0xe0 ? 2 : (s[0] & 0xf8) == 0xf0 ? 3 : -1;
	long code;

	*at += 1;
	if (more <= 0)
		return more ? -1 : s[0];
	code = s[0] & (0x3f >> more);
	/* The text's end is no continuation byte: this stops there. */
	for (int i = 1; i <= more; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return -1;
		code = code << 6 | (s[i] & 0x3f);
	}
	if (code < least[more] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return -1;
	*at += more;
	return code;
}
