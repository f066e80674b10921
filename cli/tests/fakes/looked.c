// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * looked PATH: until somebody who reads that file or directory has closed it twice from
 * now on: whatever is there now, a whole look at it has seen.
 */
#include <limits.h>
#include <stddef.h>
#include <sys/inotify.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	_Alignas(struct inotify_event) char events[sizeof(struct inotify_event) + NAME_MAX + 1];
	int notify = inotify_init1(0), closed = 0;

	if (argc != 2 || inotify_add_watch(notify, argv[1], IN_CLOSE_NOWRITE) < 0)
		return 1;
	while (closed < 2) {
		const struct inotify_event *event = (const struct inotify_event *)events;
		ssize_t size = read(notify, events, sizeof(events));

		if (size <= 0)
			return 1;
		for (char *at = events; at < events + size; at += sizeof(*event) + event->len) {
			event = (const struct inotify_event *)at;
			closed += !event->len;	/* not of a file in it */
		}
	}
	return 0;
}
