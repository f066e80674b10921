// SPDX-License-Identifier: GPL-2.0-or-later
/* What journals note, as journal.h describes the lines, and how each is undone. */
#include "audit/boot.h"
#include "journal/journal.h"
#include "journal/undo_line.h"
#include "run/undo.h"
#include "shield/undo.h"

const struct undo_kind undo_kinds[] = {
	{ .what = JOURNAL_SET, .path = true, .undo = undo_set },
	{ .what = JOURNAL_TASK, .undo = undo_task },
	{ .what = JOURNAL_INSTANCE, .path = true, .undo = undo_instance },
	{ .what = JOURNAL_GRUB, .path = true, .undo = boot_undo,
	  .command = "isolator audit --fix --boot" },
	{ .what = JOURNAL_RUN },
	{ .what = JOURNAL_CONTROLLER, .path = true, .undo = run_undo_controller },
	{ .what = JOURNAL_GROUP, .path = true, .undo = run_undo_group },
	{ .what = JOURNAL_ATTACH, .undo = run_undo_attach },
	{ .what = JOURNAL_SHIELD, .cpus = shield_undo_cpus, .command = "isolator shield",
	  .rest = shield_undo_heirs },
	{ .what = JOURNAL_SHIELD_LIST, .path = true, .undo = shield_undo_file },
	{ .what = JOURNAL_SHIELD_MASK, .path = true, .undo = shield_undo_file },
	{ .what = JOURNAL_SHIELD_TEXT, .path = true, .undo = shield_undo_file },
	{ .what = JOURNAL_SHIELD_TASK, .undo = shield_undo_task },
	{ 0 },
};
