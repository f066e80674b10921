/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the journal of a shield says (journal/journal.h): its masks, and what each task and each
 * file was before it.
 *
 *	shield SINCE MASKS -
 *	shield-list PATH NOW TEXT, and so shield-mask and shield-text
 *	shield-task TID START LIST NOW
 * shield: no change, but the masks, "3 2-3 -" for instance, from then on: SINCE is the time in
 * ticks of 10 ms since the boot, as tasks have it.  The others note what was given to whom,
 * NOW: it is put back only as long as nobody has given it something else.  The same may be
 * noted several times; what it was before the shield stands in each line.  Lines that are worth
 * nothing any more go when masks are set: tasks may come and go without end.
 */
#ifndef SHIELD_NOTES_H
#define SHIELD_NOTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cpulist.h"
#include "base/setting.h"
#include "journal/line.h"
#include "machine/tasks.h"

#define SHIELD_MASKS "shield"
#define SHIELD_FILE_LIST "shield-list"
#define SHIELD_FILE_MASK "shield-mask"
#define SHIELD_FILE_TEXT "shield-text"
#define SHIELD_TASK "shield-task"

/* What a shield keeps away. */
enum shield_kind { SHIELD_PROCESSES, SHIELD_INTERRUPTS, SHIELD_TIMERS, SHIELD_KINDS };

struct shield_masks {
	struct cpulist of[SHIELD_KINDS];
};

struct shield_note {
	char *line;	/* where the fields are */
	char *fields[JOURNAL_FIELDS];
	long tid;	/* of a task; else -1 */
	uint64_t since;	/* of the masks that were set then */
};

struct shield_notes {
	bool given;	/* there are masks */
	struct shield_masks masks;
	struct shield_note *list;	/* the newest first */
	size_t count;
	size_t latest;	/* so many of them came after the masks */
	const struct shield_note **of_tasks;	/* by the tid, and each one's newest first */
	size_t nr_of_tasks;
};

/* The text of a journal; what is damaged in it is left out. */
void shield_notes_read(struct shield_notes *notes, const char *text);

void shield_notes_free(struct shield_notes *notes);

/*
 * What the file @path, which shows @now, showed before the shield: @now itself if somebody
 * has given it something else since.
 */
const char *shield_notes_file(const struct shield_notes *notes, const char *path,
			      enum setting_kind kind, const char *now);

/*
 * The affinity that the task had before the shield, or would have without: one that began
 * since has that of whoever began it.  False: it is that which it has.
 */
bool shield_notes_task(const struct shield_notes *notes, const struct tasks_one *one,
		       struct cpulist *was);

/*
 * How many lines of its own the task has since the masks were set; *@text is what the newest
 * says, WAS and NOW.
 */
unsigned int shield_notes_moved(const struct shield_notes *notes, const struct tasks_one *one,
				const char **text);

/*
 * The journal @text without what it notes for nothing, to be freed: of a task that has ended,
 * and but for what it has now all lines of one but the newest.
 */
char *shield_notes_tidy(const char *text, const struct tasks *tasks, size_t *size);

/* Has the task a line of its own? */
bool shield_notes_has(const struct shield_notes *notes, const struct tasks_one *one);

/* The two lists of such a line, WAS and NOW; false: it is damaged. */
bool shield_note_lists(const char *text, struct cpulist *was, struct cpulist *now);

/* The masks as such a line has them, to be freed; and the other way, false: it is damaged. */
char *shield_masks_text(const struct shield_masks *masks);
bool shield_masks_read(const char *text, struct shield_masks *masks);

/* The CPUs of any of the masks, or of none. */
struct cpulist shield_masks_any(const struct shield_masks *masks);

#endif
