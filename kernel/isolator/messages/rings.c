// SPDX-License-Identifier: GPL-2.0-only
/*
 * Isolator: the memory of a channel or an inbox, as the kernel holds it.
 *
 * It is a memfd, of user mode's or of our own.  Its size is sealed, its pages are pinned and
 * mapped: from then on no access of the kernel's can fault, whatever user mode does.  A hole that
 * it punches takes pages out of the file, not away from us.
 *
 * Pages of a memfd that were allocated but never used (fallocate()) are in the page cache with
 * whatever they held before: they are cleared at the first fault or read.  memfd_pin_folios() does
 * neither: what it gives would be old memory of the kernel's to us, and would be cleared under our
 * hands as soon as user mode touches it.  So each page is read first, and only folios that are up
 * to date are taken.
 */
#include <linux/cred.h>
#include <linux/fcntl.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/memfd.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/shmem_fs.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "messages.h"

/* Whatever user mode does, the size stays. */
#define ISOLATOR_SEALS		(F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
/* The kernel's end writes, and no seal can be added later. */
#define ISOLATOR_SEALS_NOT	(F_SEAL_WRITE | F_SEAL_FUTURE_WRITE)

#define ISOLATOR_MESSAGE_DEFAULT	4096U

/* 0: it is neither. */
static u64 isolator_header_bytes(const struct isolator_ring_header *header)
{
	if (header->magic == ISOLATOR_RING_CHANNEL && !header->posters)
		return isolator_ring_channel_bytes(header->slots);
	if (header->magic == ISOLATOR_RING_INBOX && header->posters &&
	    header->posters <= ISOLATOR_RING_POSTERS)
		return isolator_ring_inbox_bytes(header->posters, header->slots);
	return 0;
}

static bool isolator_header_is_sound(const struct isolator_ring_header *header)
{
	return header->version == ISOLATOR_RING_VERSION &&
	       header->header_bytes == ISOLATOR_RING_HEADER &&
	       header->slot_bytes == ISOLATOR_RING_LINE && header->message_bytes &&
	       isolator_ring_is_sound(header->slots, header->message_bytes) &&
	       header->bytes && header->bytes == isolator_header_bytes(header);
}

/* The header is read once, into memory of our own; nothing else says how large anything is. */
static int isolator_read_header(struct isolator_rings *rings, struct file *file)
{
	struct isolator_ring_header header;
	loff_t at = 0;
	ssize_t n;

	n = kernel_read(file, &header, sizeof(header), &at);
	if (n < 0)
		return n;
	if (n != sizeof(header) || !isolator_header_is_sound(&header) ||
	    header.bytes != i_size_read(file_inode(file)))
		return -EPROTO;
	rings->bytes = header.bytes;
	rings->slots = header.slots;
	rings->message_bytes = header.message_bytes;
	rings->posters = header.posters;
	return 0;
}

static int isolator_check_file(struct file *file, bool sealed)
{
	long seals;

	if (!(file->f_mode & FMODE_READ) || !(file->f_mode & FMODE_WRITE))
		return -EACCES;
	/* Not hugetlbfs: there a page that is not written to is not there. */
	if (!shmem_file(file))
		return -ENOTTY;
	if (!sealed)
		return 0;
	seals = memfd_fcntl(file, F_GET_SEALS, 0);
	if (seals < 0 || (seals & ISOLATOR_SEALS) != ISOLATOR_SEALS)
		return -ENOTTY;
	return seals & ISOLATOR_SEALS_NOT ? -EPERM : 0;
}

/* All pages there, with content that user mode may see. */
static int isolator_fill_pages(struct file *file, pgoff_t pages)
{
	struct folio *folio;
	pgoff_t at = 0;

	while (at < pages) {
		if (fatal_signal_pending(current))
			return -EINTR;
		folio = shmem_read_folio(file->f_mapping, at);
		if (IS_ERR(folio))
			return PTR_ERR(folio);
		at = folio_next_index(folio);
		folio_put(folio);
		cond_resched();
	}
	return 0;
}

/* The pages of @rings' folios, in order; -EAGAIN: somebody punched holes meanwhile. */
static int isolator_list_pages(const struct isolator_rings *rings, struct page **pages,
			       pgoff_t count)
{
	pgoff_t at = 0, i;
	long n;

	for (n = 0; n < rings->nr_folios; n++) {
		struct folio *folio = rings->folios[n];

		if (!folio_test_uptodate(folio) || folio->index > at)
			return -EAGAIN;
		for (i = at - folio->index; i < folio_nr_pages(folio) && at < count; i++)
			pages[at++] = folio_page(folio, i);
	}
	return at == count ? 0 : -EAGAIN;
}

static int isolator_map_rings(struct isolator_rings *rings)
{
	pgoff_t offset, count = DIV_ROUND_UP(rings->bytes, PAGE_SIZE);
	struct page **pages;
	int ret;

	ret = isolator_fill_pages(rings->file, count);
	if (ret)
		return ret;
	rings->folios = kvmalloc_array(count, sizeof(*rings->folios), GFP_KERNEL);
	if (!rings->folios)
		return -ENOMEM;
	rings->nr_folios = memfd_pin_folios(rings->file, 0, rings->bytes - 1, rings->folios,
					    count, &offset);
	if (rings->nr_folios < 0)
		return rings->nr_folios;
	pages = kvmalloc_array(count, sizeof(*pages), GFP_KERNEL);
	if (!pages)
		return -ENOMEM;
	ret = isolator_list_pages(rings, pages, count);
	if (!ret) {
		rings->memory = vmap(pages, count, VM_MAP, PAGE_KERNEL);
		ret = rings->memory ? 0 : -ENOMEM;
	}
	kvfree(pages);
	return ret;
}

/*
 * What was written by our mapping is in no page table of user mode's: a page that was clean, as
 * of a hole or fresh from swap, would be dropped with it as soon as it is no longer pinned.
 */
static void isolator_mark_dirty(const struct isolator_rings *rings)
{
	long n;

	for (n = 0; n < rings->nr_folios; n++) {
		set_page_dirty_lock(folio_page(rings->folios[n], 0));	/* of its whole folio */
		cond_resched();
	}
}

static void isolator_rings_free(struct kref *ref)
{
	struct isolator_rings *rings = container_of(ref, struct isolator_rings, ref);

	if (rings->memory) {
		vunmap(rings->memory);
		isolator_mark_dirty(rings);
	}
	if (rings->nr_folios > 0)
		unpin_folios(rings->folios, rings->nr_folios);
	kvfree(rings->folios);
	if (rings->file)
		fput(rings->file);
	kfree(rings);
}

/**
 * isolator_rings_put - give rings back
 * @rings: from isolator_rings_get() or isolator_rings_make(); NULL is fine
 *
 * Ports that are open keep the memory.
 *
 * Context: process, may sleep; not in a quiet section.
 */
void isolator_rings_put(struct isolator_rings *rings)
{
	if (rings)
		kref_put(&rings->ref, isolator_rings_free);
}
EXPORT_SYMBOL_GPL(isolator_rings_put);

/**
 * isolator_reopen - a file of our own, of the memory that @file is of
 * @file: stays the caller's
 *
 * Waits for no lease: its holder in user mode would have lease-break-time to give it back.
 *
 * Context: process, may sleep.
 * Return: the file; ERR_PTR: -EBUSY: somebody has a lease; what dentry_open() says.
 */
struct file *isolator_reopen(struct file *file)
{
	struct file *own = dentry_open(&file->f_path, O_RDWR | O_LARGEFILE | O_NONBLOCK,
				       current_cred());

	return own == ERR_PTR(-EWOULDBLOCK) ? ERR_PTR(-EBUSY) : own;
}

/**
 * isolator_rings_of - hold the memory behind an open file
 * @file: stays the caller's
 * @max_bytes: the most that may be pinned
 * @sealed: user mode may have it: its seals must be right
 *
 * Context: process, may sleep.
 * Return: as isolator_rings_get().
 */
struct isolator_rings *isolator_rings_of(struct file *file, u64 max_bytes, bool sealed)
{
	struct isolator_rings *rings;
	int ret;

	ret = isolator_check_file(file, sealed);
	if (ret)
		return ERR_PTR(ret);
	rings = kzalloc(sizeof(*rings), GFP_KERNEL);
	if (!rings)
		return ERR_PTR(-ENOMEM);
	kref_init(&rings->ref);
	ret = isolator_read_header(rings, file);
	if (!ret && rings->bytes > max_bytes)
		ret = -E2BIG;
	if (ret)
		goto put;
	/* One of our own: the user's goes when the user wants, with the locks that it holds. */
	rings->file = isolator_reopen(file);
	if (IS_ERR(rings->file)) {
		ret = PTR_ERR(rings->file);
		rings->file = NULL;
		goto put;
	}
	ret = isolator_map_rings(rings);
	if (!ret)
		return rings;
put:
	isolator_rings_put(rings);
	return ERR_PTR(ret);
}

/**
 * isolator_rings_get - hold a channel or an inbox that user mode has made
 * @fd: of the current task: a memfd as isolator_channel_create() or isolator_inbox_create() of
 *	libisolator makes it, open for reading and writing
 * @max_bytes: the most memory that may be pinned for it; all of it is
 *
 * All pages are pinned and mapped for the kernel.  They are charged to whoever first used them,
 * those that nobody used to the current task, but not to a limit on locked memory.  Whether the
 * task may have so much pinned is the caller's to say.
 *
 * Context: process, may sleep; not in a quiet section.
 * Return: the rings; ERR_PTR: -EBADF: @fd is not open; -EACCES: not for reading and writing;
 * -ENOTTY: no memfd of ordinary pages, or its size is not sealed; -EPERM: it is sealed against
 * writing; -EPROTO: the header is none, or does not fit the size; -E2BIG: larger than @max_bytes;
 * -EAGAIN: its pages were taken away meanwhile; -EBUSY: somebody has a lease on it
 * (F_SETLEASE); -EINTR: the task is being killed; -ENOMEM.
 */
struct isolator_rings *isolator_rings_get(int fd, u64 max_bytes)
{
	struct file *file = fget(fd);
	struct isolator_rings *rings;

	if (!file)
		return ERR_PTR(-EBADF);
	rings = isolator_rings_of(file, max_bytes, true);
	fput(file);
	return rings;
}
EXPORT_SYMBOL_GPL(isolator_rings_get);

/**
 * isolator_rings_make - make a channel or an inbox whose ends are all in the kernel
 * @slots: of each ring, a power of two from 8 to 1048576
 * @message_bytes: the longest message of several slots, up to half a ring and 65535 slots; 0 for
 *	4096 or a quarter of a ring, whichever is less.  One of up to 56 bytes always passes
 * @posters: of an inbox, 1 to 256; 0: a channel
 *
 * Context: process, may sleep; not in a quiet section.
 * Return: the rings; ERR_PTR(-EINVAL): a number is wrong; ERR_PTR(-ENOMEM).
 */
struct isolator_rings *isolator_rings_make(u32 slots, u32 message_bytes, u32 posters)
{
	struct isolator_ring_header header = {
		.magic		= posters ? ISOLATOR_RING_INBOX : ISOLATOR_RING_CHANNEL,
		.version	= ISOLATOR_RING_VERSION,
		.header_bytes	= ISOLATOR_RING_HEADER,
		.slot_bytes	= ISOLATOR_RING_LINE,
		.slots		= slots,
		.message_bytes	= message_bytes,
		.posters	= posters,
	};
	struct isolator_rings *rings;
	struct file *file;
	loff_t at = 0;
	ssize_t n;

	if (!header.message_bytes)
		header.message_bytes = min(slots / 4 * ISOLATOR_RING_PAYLOAD,
					   ISOLATOR_MESSAGE_DEFAULT);
	header.bytes = isolator_header_bytes(&header);
	if (!isolator_header_is_sound(&header))
		return ERR_PTR(-EINVAL);
	file = shmem_file_setup("isolator-rings", header.bytes, 0);
	if (IS_ERR(file))
		return ERR_CAST(file);
	n = kernel_write(file, &header, sizeof(header), &at);
	if (n == sizeof(header))
		rings = isolator_rings_of(file, header.bytes, false);
	else
		rings = ERR_PTR(n < 0 ? n : -ENOMEM);
	fput(file);
	return rings;
}
EXPORT_SYMBOL_GPL(isolator_rings_make);

/**
 * isolator_rings_posters - how many posters an inbox has
 * @rings: from isolator_rings_get() or isolator_rings_make()
 *
 * Context: any.
 * Return: 1 to 256; 0: it is a channel.
 */
unsigned int isolator_rings_posters(const struct isolator_rings *rings)
{
	return rings->posters;
}
EXPORT_SYMBOL_GPL(isolator_rings_posters);

/**
 * isolator_rings_message_bytes - how long a message may be that comes, or is posted
 * @rings: from isolator_rings_get() or isolator_rings_make()
 *
 * What is read from a message into memory of one's own has to have room for so much.
 *
 * Context: any.
 * Return: bytes: what the header says, but at least the 56 of one slot, which no end of a channel
 * or an inbox refuses.
 */
u32 isolator_rings_message_bytes(const struct isolator_rings *rings)
{
	return max(rings->message_bytes, ISOLATOR_RING_PAYLOAD);
}
EXPORT_SYMBOL_GPL(isolator_rings_message_bytes);
