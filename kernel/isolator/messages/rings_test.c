// SPDX-License-Identifier: GPL-2.0-only
/* Isolator: KUnit tests of rings: which are refused, what becomes of their memory. */
#include <kunit/test.h>
#include <linux/falloc.h>
#include <linux/file.h>
#include <linux/filelock.h>
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/highmem.h>
#include <linux/pagemap.h>
#include <linux/sched/signal.h>
#include <linux/shmem_fs.h>

#include "messages.h"

#define SLOTS		16U

static void isolator_test_rings_refused(struct kunit *test)
{
	struct isolator_rings *rings;

	KUNIT_EXPECT_EQ(test, PTR_ERR(isolator_rings_make(0, 0, 0)), -EINVAL);
	KUNIT_EXPECT_EQ(test, PTR_ERR(isolator_rings_make(4, 0, 0)), -EINVAL);
	KUNIT_EXPECT_EQ(test, PTR_ERR(isolator_rings_make(24, 0, 0)), -EINVAL);
	KUNIT_EXPECT_EQ(test, PTR_ERR(isolator_rings_make(1U << 21, 0, 0)), -EINVAL);
	KUNIT_EXPECT_EQ(test, PTR_ERR(isolator_rings_make(SLOTS, 449, 0)), -EINVAL);
	KUNIT_EXPECT_EQ(test, PTR_ERR(isolator_rings_make(SLOTS, 0, 257)), -EINVAL);
	KUNIT_EXPECT_EQ(test, PTR_ERR(isolator_rings_get(-1, SZ_1M)), -EBADF);
	rings = isolator_rings_make(SLOTS, 0, 0);
	KUNIT_ASSERT_FALSE(test, IS_ERR(rings));
	KUNIT_EXPECT_EQ(test, isolator_rings_posters(rings), 0);
	KUNIT_EXPECT_EQ(test, PTR_ERR(isolator_port_open(rings, 2)), -EINVAL);
	KUNIT_EXPECT_EQ(test, PTR_ERR(isolator_port_open(rings, ISOLATOR_PORT_RECEIVER)), -EINVAL);
	isolator_rings_put(rings);
	isolator_rings_put(NULL);
	isolator_port_close(NULL);
}

/* A file that is like one of ours, with one thing wrong. */
static long isolator_test_file(u64 bytes, const struct isolator_ring_header *header, u64 max)
{
	struct file *file = shmem_file_setup("isolator-test", bytes, 0);
	struct isolator_rings *rings;
	loff_t at = 0;
	long ret = 0;

	if (IS_ERR(file))
		return PTR_ERR(file);
	if (kernel_write(file, header, sizeof(*header), &at) != sizeof(*header))
		ret = -EIO;
	rings = ret ? ERR_PTR(ret) : isolator_rings_of(file, max, false);
	fput(file);
	if (IS_ERR(rings))
		return PTR_ERR(rings);
	isolator_rings_put(rings);
	return 0;
}

/* That of a program's channel. */
static struct isolator_ring_header isolator_test_header(u32 slots)
{
	return (struct isolator_ring_header){
		.magic = ISOLATOR_RING_CHANNEL, .version = 1, .header_bytes = 4096,
		.slot_bytes = 64,
		.slots = slots, .message_bytes = 56, .bytes = isolator_ring_channel_bytes(slots),
	};
}

static void isolator_test_rings_header(struct kunit *test)
{
	const struct isolator_ring_header good = isolator_test_header(SLOTS);
	const u64 bytes = good.bytes;
	struct isolator_ring_header bad;
	int i;

	KUNIT_EXPECT_EQ(test, isolator_test_file(bytes, &good, bytes), 0);
	KUNIT_EXPECT_EQ(test, isolator_test_file(bytes, &good, bytes - 1), -E2BIG);
	KUNIT_EXPECT_EQ(test, isolator_test_file(bytes + 1, &good, SZ_1M), -EPROTO);
	KUNIT_EXPECT_EQ(test, isolator_test_file(bytes - 1, &good, SZ_1M), -EPROTO);
	/* Each byte of it matters. */
	for (i = 0; i < sizeof(good); i++) {
		bad = good;
		((u8 *)&bad)[i] ^= 0x80;
		/* A longer message that half a ring holds is another channel, not a wrong one. */
		if (i == offsetof(struct isolator_ring_header, message_bytes))
			continue;
		KUNIT_EXPECT_EQ_MSG(test, isolator_test_file(bytes, &bad, SZ_1M), -EPROTO,
				    "byte %d", i);
	}
}

/* So that what is allocated next is not zero by chance. */
static void isolator_test_leave_pages(void)
{
	struct page *page[128];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(page); i++) {
		page[i] = alloc_page(GFP_HIGHUSER);
		if (page[i])
			memset_page(page[i], 0, 0x5a, PAGE_SIZE);
	}
	for (i = 0; i < ARRAY_SIZE(page); i++)
		if (page[i])
			__free_page(page[i]);
}

/* Pages that were allocated and never used have what they had: nobody may see that. */
static void isolator_test_rings_cleared(struct kunit *test)
{
	const struct isolator_ring_header header = isolator_test_header(1024);
	const u64 bytes = header.bytes;
	struct file *file = shmem_file_setup("isolator-test", bytes, 0);
	struct isolator_rings *rings;
	loff_t at = 0;

	KUNIT_ASSERT_FALSE(test, IS_ERR(file));
	isolator_test_leave_pages();
	KUNIT_EXPECT_EQ(test, vfs_fallocate(file, 0, 0, bytes), 0);
	KUNIT_EXPECT_EQ(test, kernel_write(file, &header, sizeof(header), &at), sizeof(header));
	rings = isolator_rings_of(file, bytes, false);
	KUNIT_ASSERT_FALSE(test, IS_ERR(rings));
	KUNIT_EXPECT_NULL(test, memchr_inv(rings->memory + sizeof(header), 0,
					   bytes - sizeof(header)));
	/* And it is the file's memory, not a copy. */
	at = 8192;
	KUNIT_EXPECT_EQ(test, kernel_write(file, "here", 4, &at), 4);
	KUNIT_EXPECT_MEMEQ(test, rings->memory + 8192, "here", 4);
	isolator_rings_put(rings);
	fput(file);
}

/* A file like one of a program's: nothing of it is there but the header. */
static struct file *isolator_test_channel(struct kunit *test, u32 slots)
{
	const struct isolator_ring_header header = isolator_test_header(slots);
	struct file *file = shmem_file_setup("isolator-test", header.bytes, 0);
	loff_t at = 0;

	KUNIT_ASSERT_FALSE(test, IS_ERR(file));
	KUNIT_ASSERT_EQ(test, kernel_write(file, &header, sizeof(header), &at), sizeof(header));
	return file;
}

/* Only a dirty page is kept when it is reclaimed: what was posted must make it one. */
static void isolator_test_rings_dirty(struct kunit *test)
{
	struct file *file = isolator_test_channel(test, 256);
	struct isolator_rings *rings = isolator_rings_of(file, SZ_1M, false);
	pgoff_t at, pages = isolator_ring_channel_bytes(256) / PAGE_SIZE;
	struct isolator_port *port;
	struct folio *folio;
	u64 data = 0;

	KUNIT_ASSERT_FALSE(test, IS_ERR(rings));
	port = isolator_port_open(rings, ISOLATOR_PORT_A);
	KUNIT_ASSERT_FALSE(test, IS_ERR(port));
	KUNIT_EXPECT_EQ(test, isolator_port_use(port), 0);
	while (!isolator_port_post(port, 1, &data, sizeof(data)))
		;
	isolator_port_close(port);
	isolator_rings_put(rings);
	for (at = 0; at < pages; at++) {
		folio = filemap_get_folio(file->f_mapping, at);
		KUNIT_ASSERT_FALSE(test, IS_ERR(folio));
		KUNIT_EXPECT_TRUE_MSG(test, folio_test_dirty(folio), "page %lu", at);
		folio_put(folio);
	}
	fput(file);
}

/* Nobody waits for whoever has a lease on the memory, in user mode: for 45 s. */
static void isolator_test_rings_lease(struct kunit *test)
{
	struct file *file = isolator_test_channel(test, SLOTS);
	struct file *other = isolator_reopen(file);
	struct isolator_rings *rings;
	struct isolator_port *port;

	KUNIT_ASSERT_FALSE(test, IS_ERR(other));
	KUNIT_EXPECT_EQ(test, fcntl_setlease(0, other, F_WRLCK), 0);
	KUNIT_EXPECT_EQ(test, PTR_ERR(isolator_rings_of(file, SZ_1M, false)), -EBUSY);
	KUNIT_EXPECT_EQ(test, fcntl_setlease(0, other, F_UNLCK), 0);
	__fput_sync(other);
	rings = isolator_rings_of(file, SZ_1M, false);
	KUNIT_ASSERT_FALSE(test, IS_ERR(rings));
	/* A memfd as it was made does not count as a writer: it may have one even now. */
	KUNIT_EXPECT_EQ(test, fcntl_setlease(0, file, F_WRLCK), 0);
	KUNIT_EXPECT_EQ(test, PTR_ERR(isolator_port_open(rings, ISOLATOR_PORT_A)), -EBUSY);
	KUNIT_EXPECT_EQ(test, fcntl_setlease(0, file, F_UNLCK), 0);
	port = isolator_port_open(rings, ISOLATOR_PORT_A);
	KUNIT_EXPECT_FALSE(test, IS_ERR(port));
	if (!IS_ERR(port))
		isolator_port_close(port);
	isolator_rings_put(rings);
	fput(file);
}

/* One slot is always posted, and received; so there is always room for it. */
static void isolator_test_rings_message_bytes(struct kunit *test)
{
	struct isolator_rings *rings = isolator_rings_make(SLOTS, 1, 0);
	struct isolator_port *end[2];
	struct isolator_message message;
	u8 data[ISOLATOR_RING_PAYLOAD + 1] = { };
	int i;

	KUNIT_ASSERT_FALSE(test, IS_ERR(rings));
	KUNIT_EXPECT_EQ(test, isolator_rings_message_bytes(rings), ISOLATOR_RING_PAYLOAD);
	for (i = 0; i < 2; i++) {
		end[i] = isolator_port_open(rings, i);
		KUNIT_ASSERT_FALSE(test, IS_ERR(end[i]));
		KUNIT_EXPECT_EQ(test, isolator_port_use(end[i]), 0);
	}
	KUNIT_EXPECT_EQ(test, isolator_port_post(end[0], 1, data, sizeof(data)), -EMSGSIZE);
	KUNIT_EXPECT_EQ(test, isolator_port_post(end[0], 1, data, sizeof(data) - 1), 0);
	KUNIT_EXPECT_EQ(test, isolator_port_receive(end[1], &message), 1);
	KUNIT_EXPECT_EQ(test, message.length, isolator_rings_message_bytes(rings));
	for (i = 0; i < 2; i++)
		isolator_port_close(end[i]);
	isolator_rings_put(rings);

	rings = isolator_rings_make(SLOTS, 300, 0);
	KUNIT_ASSERT_FALSE(test, IS_ERR(rings));
	KUNIT_EXPECT_EQ(test, isolator_rings_message_bytes(rings), 300);
	isolator_rings_put(rings);
}

/* Who is being killed opens no end, and leaves it to the next one. */
static void isolator_test_port_killed(struct kunit *test)
{
	struct isolator_rings *rings = isolator_rings_make(SLOTS, 0, 0);
	struct isolator_port *port;

	KUNIT_ASSERT_FALSE(test, IS_ERR(rings));
	/* No signal comes to a thread of the kernel: only what would be seen of it. */
	sigaddset(&current->pending.signal, SIGKILL);
	set_thread_flag(TIF_SIGPENDING);
	port = isolator_port_open(rings, ISOLATOR_PORT_A);
	sigdelset(&current->pending.signal, SIGKILL);
	clear_thread_flag(TIF_SIGPENDING);
	KUNIT_EXPECT_EQ(test, PTR_ERR(port), -EINTR);
	port = isolator_port_open(rings, ISOLATOR_PORT_A);
	KUNIT_EXPECT_FALSE(test, IS_ERR(port));
	if (!IS_ERR(port))
		isolator_port_close(port);
	isolator_rings_put(rings);
}

static struct kunit_case isolator_rings_cases[] = {
	KUNIT_CASE(isolator_test_rings_refused),
	KUNIT_CASE(isolator_test_rings_header),
	KUNIT_CASE(isolator_test_rings_cleared),
	KUNIT_CASE(isolator_test_rings_dirty),
	KUNIT_CASE(isolator_test_rings_lease),
	KUNIT_CASE(isolator_test_rings_message_bytes),
	KUNIT_CASE(isolator_test_port_killed),
	{ }
};

static struct kunit_suite isolator_rings_suite = {
	.name = "isolator_rings",
	.test_cases = isolator_rings_cases,
};

kunit_test_suite(isolator_rings_suite);
