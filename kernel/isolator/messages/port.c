// SPDX-License-Identifier: GPL-2.0-only
/*
 * Isolator: an end of a channel or an inbox that the kernel has: opened, asked, closed.
 *
 * Who has an end holds a lock on a byte of the memory's file, as the library's do, with an open
 * file of its own: so each end has one holder, of user mode or of the kernel, and the lock of one
 * that has died is gone.
 */
#include <linux/cred.h>
#include <linux/fcntl.h>
#include <linux/file.h>
#include <linux/filelock.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "messages.h"

/* The byte of @end; -EINVAL: there is no such end. */
static loff_t isolator_end_byte(const struct isolator_rings *rings, unsigned int end)
{
	if (end == ISOLATOR_PORT_RECEIVER && rings->posters)
		return rings->posters;
	if (end > ISOLATOR_PORT_B && !rings->posters)
		return -EINVAL;
	if (end >= rings->posters && rings->posters)
		return -EINVAL;
	return end;
}

static struct file_lock *isolator_port_lock(struct file *file, loff_t byte)
{
	struct file_lock *lock = locks_alloc_lock();

	if (!lock)
		return NULL;
	lock->c.flc_type = F_WRLCK;
	lock->c.flc_flags = FL_POSIX | FL_OFDLCK;
	lock->c.flc_owner = file;
	lock->c.flc_file = file;
	lock->c.flc_pid = -1;
	lock->fl_start = byte;
	lock->fl_end = byte;
	return lock;
}

/* It goes with @file. */
static int isolator_port_hold(struct file *file, loff_t byte)
{
	struct file_lock *lock = isolator_port_lock(file, byte);
	int ret;

	if (!lock)
		return -ENOMEM;
	ret = vfs_lock_file(file, F_SETLK, lock, NULL);
	locks_free_lock(lock);
	return ret == -EAGAIN ? -EBUSY : ret;
}

/**
 * isolator_port_held - does anybody hold an end of the memory that this port is of?
 * @port: any
 * @end: as for isolator_port_open(): in general the peer's
 *
 * What user mode holds goes when its process dies; that it answers is not said.
 *
 * Context: process, may sleep; not in a quiet section.
 * Return: 1: yes; 0: nobody does, as it was not opened, or has died; -EINVAL: there is no such
 * end; -ENOMEM.
 */
int isolator_port_held(struct isolator_port *port, unsigned int end)
{
	loff_t byte = isolator_end_byte(port->rings, end);
	struct file_lock *lock;
	int ret;

	if (byte < 0)
		return byte;
	/* By the file that holds no lock: also our own is found. */
	lock = isolator_port_lock(port->rings->file, byte);
	if (!lock)
		return -ENOMEM;
	ret = vfs_test_lock(port->rings->file, lock) ?: lock->c.flc_type != F_UNLCK;
	locks_free_lock(lock);
	return ret;
}
EXPORT_SYMBOL_GPL(isolator_port_held);

static void isolator_set_up_channel(struct isolator_port *port, unsigned int end)
{
	struct isolator_ring_shared *shared = port->rings->memory;
	struct isolator_slot *rings = (void *)(shared + 1);
	u32 slots = port->rings->slots;

	/* Ring 0 is posted to by A. */
	port->poster.ring = rings + (end == ISOLATOR_PORT_A ? 0 : slots);
	port->poster.other = &shared->receiver[end == ISOLATOR_PORT_A ? 0 : 1];
	port->lanes->ring = rings + (end == ISOLATOR_PORT_A ? slots : 0);
	port->lanes->own = &shared->receiver[end == ISOLATOR_PORT_A ? 1 : 0];
}

/* Where poster @number's lane is: the receiver's lines; the ring is a page further. */
static void *isolator_inbox_lane(const struct isolator_rings *rings, unsigned int number)
{
	return rings->memory + ISOLATOR_RING_HEADER +
	       number * isolator_ring_lane_bytes(rings->slots);
}

static void isolator_set_up_inbox(struct isolator_port *port, unsigned int end)
{
	void *lane;
	u32 i;

	if (end != ISOLATOR_PORT_RECEIVER) {
		lane = isolator_inbox_lane(port->rings, end);
		port->poster.other = lane;
		port->poster.ring = lane + ISOLATOR_RING_HEADER;
		return;
	}
	for (i = 0; i < port->nr_lanes; i++) {
		lane = isolator_inbox_lane(port->rings, i);
		port->lanes[i].own = lane;
		port->lanes[i].ring = lane + ISOLATOR_RING_HEADER;
	}
}

static int isolator_set_up(struct isolator_port *port, unsigned int end)
{
	unsigned int i;

	if (port->rings->posters)
		isolator_set_up_inbox(port, end);
	else
		isolator_set_up_channel(port, end);
	for (i = 0; i < port->nr_lanes; i++) {
		port->lanes[i].mask = port->rings->slots - 1;
		isolator_receive_begin(&port->lanes[i]);
	}
	if (!port->poster.ring)
		return 0;
	port->poster.mask = port->rings->slots - 1;
	return isolator_post_begin(&port->poster);
}

static void isolator_port_free(struct isolator_port *port)
{
	if (port->file) {
		/* Now: a kernel thread's last reference goes later. */
		locks_remove_posix(port->file, port->file);
		fput(port->file);
	}
	kvfree(port->lanes);
	kvfree(port->message);
	isolator_rings_put(port->rings);
	kfree(port);
}

/**
 * isolator_port_open - open an end of a channel or an inbox
 * @rings: from isolator_rings_get() or isolator_rings_make(); may be put at once
 * @end: of a channel ISOLATOR_PORT_A or ISOLATOR_PORT_B; of an inbox a poster's number, or
 *	ISOLATOR_PORT_RECEIVER
 *
 * Goes on where the last one that had this end left off.  No other can open it meanwhile, in the
 * kernel or in user mode, but one that takes it by force (ISOLATOR_SIDE_TAKE of libisolator): then
 * both spoil each other's messages.  The time is bounded by the slots of a ring.
 *
 * Context: process, may sleep; not in a quiet section.
 * Return: the port; ERR_PTR: -EINVAL: there is no such end; -EBUSY: somebody holds it, or has a
 * lease on the memory; -EINTR: the task is being killed; -ENOMEM.
 */
struct isolator_port *isolator_port_open(struct isolator_rings *rings, unsigned int end)
{
	loff_t byte = isolator_end_byte(rings, end);
	struct isolator_port *port;
	int ret = -ENOMEM;

	if (byte < 0)
		return ERR_PTR(byte);
	port = kzalloc(sizeof(*port), GFP_KERNEL);
	if (!port)
		return ERR_PTR(-ENOMEM);
	kref_get(&rings->ref);
	port->rings = rings;
	port->message_bytes = rings->message_bytes;
	if (!rings->posters)
		port->nr_lanes = 1;
	else if (end == ISOLATOR_PORT_RECEIVER)
		port->nr_lanes = rings->posters;
	if (port->nr_lanes) {
		port->lanes = kvcalloc(port->nr_lanes, sizeof(*port->lanes), GFP_KERNEL);
		/* In whole words. */
		port->message = kvzalloc(ALIGN(port->message_bytes, sizeof(u64)), GFP_KERNEL);
		if (!port->lanes || !port->message)
			goto out_free;
	}
	port->file = isolator_reopen(rings->file);
	if (IS_ERR(port->file)) {
		ret = PTR_ERR(port->file);
		port->file = NULL;
		goto out_free;
	}
	ret = isolator_port_hold(port->file, byte) ?: isolator_set_up(port, end);
	if (!ret)
		return port;

out_free:
	isolator_port_free(port);
	return ERR_PTR(ret);
}
EXPORT_SYMBOL_GPL(isolator_port_open);

/**
 * isolator_port_use - from now on the current task posts and receives
 * @port: that no task uses, or this one
 *
 * To be called by the task itself, out of its quiet section and after the port was opened: leaving
 * a section is what lets its CPU know of memory that was mapped meanwhile.  So a port that another
 * task opens is handed over between two sections.
 *
 * It is that task's for good: once it has ended, close the port and open another.
 *
 * Context: process; not in a quiet section.
 * Return: 0; -EBUSY: another task uses it.
 */
int isolator_port_use(struct isolator_port *port)
{
	const struct task_struct *before = cmpxchg(&port->owner, NULL, current);

	return before && before != current ? -EBUSY : 0;
}
EXPORT_SYMBOL_GPL(isolator_port_use);

/**
 * isolator_port_close - give an end back
 * @port: used by nobody any more; NULL is fine
 *
 * What was posted stays for the other side.
 *
 * Context: process, may sleep; not in a quiet section; any task.
 */
void isolator_port_close(struct isolator_port *port)
{
	if (port)
		isolator_port_free(port);
}
EXPORT_SYMBOL_GPL(isolator_port_close);

/**
 * isolator_port_stat - what an end did since it was opened
 * @port: any
 * @sender: of an inbox's receiver the poster whose lane is asked for; else 0
 * @stat: filled in; each number is right for some moment
 *
 * Context: any.
 * Return: 0; -EINVAL: there is no such poster.
 */
int isolator_port_stat(const struct isolator_port *port, unsigned int sender,
		       struct isolator_port_stat *stat)
{
	const struct isolator_poster *tx = &port->poster;
	const struct isolator_lane *rx = port->lanes + sender;

	if (sender && sender >= port->nr_lanes)
		return -EINVAL;
	*stat = (struct isolator_port_stat) {
		.posted	= READ_ONCE(tx->posted),
		.full	= READ_ONCE(tx->full),
		.resyncs = READ_ONCE(tx->resyncs),
	};
	if (!port->nr_lanes)
		return 0;
	stat->received = READ_ONCE(rx->received);
	stat->gaps = READ_ONCE(rx->gaps);
	stat->lost = READ_ONCE(rx->lost);
	stat->invalid = READ_ONCE(rx->invalid);
	stat->resyncs += READ_ONCE(rx->resyncs);
	return 0;
}
EXPORT_SYMBOL_GPL(isolator_port_stat);
