/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The lines between a target and a virtual generator: memory that both map (BAR2 of an
 * ivshmem device), in place of the wires to a generator that is a board.
 *
 * Generator: writes @trigger (release), then rings doorbell vector 0 of the target.
 * Target: reads @trigger (acquire) and answers on a line: it writes the sequence to
 * ring[head % SCOPE_LINES_RING], then head + 1 (release).  Each line has one writer at a
 * time.  Interrupts that were merged are answered once, for the newest trigger; answering
 * for a trigger that was answered on that line before is not allowed.
 *
 * Heads only grow (and wrap): a driver that is loaded goes on from the head that it finds.
 * A sequence is 1 to 2^32 - 1, then 1 again; 0 says that there was no trigger yet.
 *
 * Each side's words have cache lines of their own.  All are little-endian, of a machine
 * that is.  What the other side wrote may be anything, at any time.
 */
#ifndef SCOPE_LINES_H
#define SCOPE_LINES_H

#include <linux/types.h>

#define SCOPE_LINES_MAGIC 0x534e4c49u	/* "ILNS" */
#define SCOPE_LINES_VERSION 1u
#define SCOPE_LINES_MAX 32u
#define SCOPE_LINES_RING 1024u
#define SCOPE_LINES_NAME 16		/* not terminated when all are used */
#define SCOPE_LINES_VECTOR 0		/* the doorbell's, for triggers */
#define SCOPE_LINES_SIZE (1u << 20)	/* of the whole memory */

/* One line: 8 KiB. */
struct scope_line {
	__u32 head;			/* answers so far */
	__u32 reserved0[15];
	__u32 ring[SCOPE_LINES_RING];
	__u32 reserved1[1008];
};

struct scope_lines {
	/* Written by the generator before anything else, @magic last (release). */
	__u32 magic;
	__u32 version;
	__u32 nr_lines;			/* SCOPE_LINES_MAX */
	__u32 ring_size;		/* SCOPE_LINES_RING */
	__u32 reserved0[12];

	/* Written by the generator. */
	__u32 generation;		/* one more each time that a generator begins */
	__u32 reserved1;
	__u64 enabled;			/* lines that are expected to answer */
	__u32 reserved2[12];

	__u32 trigger;			/* sequence of the last one */
	__u32 level;			/* 1: the trigger line is high */
	__u32 reserved3[14];

	/* Written by the driver; @driver_generation last when it begins (release). */
	__u32 driver_generation;	/* one more each time; 0: there is none */
	__u32 reserved4;
	__u64 offered;			/* lines that something answers on */
	__u32 reserved5[12];

	char names[SCOPE_LINES_MAX][SCOPE_LINES_NAME];
	__u32 reserved6[1856];

	struct scope_line line[SCOPE_LINES_MAX];	/* from 8 KiB on */
};

#endif
