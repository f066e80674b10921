/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef VERSION_H
#define VERSION_H

/* As in meson.build; the test `version` compares. */
#define ISOLATOR_VERSION "0.1.0"

#endif
