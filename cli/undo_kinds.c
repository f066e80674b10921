// SPDX-License-Identifier: GPL-2.0-or-later
/* What journals note, and how each is undone: the journal's own kinds, then those of rooms. */
#include "audit/boot.h"
#include "journal/journal.h"
#include "journal/undo_line.h"
#include "run/undo.h"
#include "shield/notes.h"
#include "shield/undo.h"

const struct undo_kind undo_kinds[] = {
	{ .what = JOURNAL_CHANGE, .path = true, .undo = undo_change, .share = undo_share_change },
	{ .what = JOURNAL_ALLOWED, .path = true, .aside = true, .undo = undo_allowed },
	{ .what = JOURNAL_SET, .path = true, .undo = undo_set, .share = undo_share_set },
	{ .what = JOURNAL_TASK, .task = true, .undo = undo_task, .share = undo_share_task },
	{ .what = JOURNAL_INSTANCE, .path = true, .undo = undo_instance },
	{ .what = JOURNAL_RUN, .task = true },
	{ .what = BOOT_GRUB, .path = true, .undo = boot_undo,
	  .command = "isolator audit --fix --boot" },
	{ .what = RUN_CONTROLLER, .path = true, .undo = run_undo_controller,
	  .share = run_share_controller },
	{ .what = RUN_GROUP, .path = true, .undo = run_undo_group },
	{ .what = RUN_ATTACH, .task = true, .attached = true, .undo = run_undo_attach },
	{ .what = SHIELD_MASKS, .cpus = shield_undo_cpus, .command = "isolator shield",
	  .rest = shield_undo_heirs },
	{ .what = SHIELD_FILE_LIST, .path = true, .undo = shield_undo_file },
	{ .what = SHIELD_FILE_MASK, .path = true, .undo = shield_undo_file },
	{ .what = SHIELD_FILE_TEXT, .path = true, .undo = shield_undo_file },
	{ .what = SHIELD_TASK, .task = true, .undo = shield_undo_task },
	{ 0 },
};
