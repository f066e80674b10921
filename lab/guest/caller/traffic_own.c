// SPDX-License-Identifier: GPL-2.0-or-later
/* What the operations of a section cost: in the system call of who writes to /dev/lab_traffic. */
#include <linux/err.h>
#include <linux/isolator_caller.h>
#include <linux/isolator_messages.h>
#include <linux/isolator_pool.h>
#include <linux/module.h>

#include "traffic.h"

static struct isolator_caller own;
static struct isolator_pool *own_pool;
static struct isolator_port *own_end[2];

void traffic_own_end(void)
{
	int i;

	isolator_kernel_stop(&own);
	if (!IS_ERR(own_pool))
		WARN_ON(isolator_pool_destroy(own_pool));
	for (i = 0; i < 2; i++)
		if (!IS_ERR(own_end[i]))
			isolator_port_close(own_end[i]);
	own_pool = NULL;
	own_end[0] = own_end[1] = NULL;
}

int traffic_own_begin(u64 bound_ns)
{
	struct isolator_rings *rings;
	int i, ret;

	ret = isolator_kernel_start(&own, bound_ns);
	if (ret)
		return ret;
	own_pool = isolator_pool_create(&own, 64, 64, 0);
	rings = isolator_rings_make(64, 0, 0);
	ret = PTR_ERR_OR_ZERO(own_pool) ?: PTR_ERR_OR_ZERO(rings);
	for (i = 0; !ret && i < 2; i++) {
		own_end[i] = isolator_port_open(rings, i);
		ret = PTR_ERR_OR_ZERO(own_end[i]) ?: isolator_port_use(own_end[i]);
	}
	if (!IS_ERR(rings))
		isolator_rings_put(rings);
	if (ret)
		traffic_own_end();
	return ret;
}

static noinstr int work_quietly(struct isolator_caller *caller, unsigned int kind,
				unsigned int count)
{
	struct isolator_message message;
	static const u64 data[ISOLATOR_RING_WORDS];	/* no memset() in here */
	int ret = isolator_quiet_enter(caller);

	if (ret)
		return ret;
	for (; count; count--) {
		barrier();
		if (kind == 1) {
			isolator_pool_free(own_pool, isolator_pool_alloc(own_pool));
		} else if (kind == 2) {
			isolator_port_post(own_end[0], 1, data, sizeof(data));
			isolator_port_receive(own_end[1], &message);
		} else if (kind == 3) {
			isolator_port_receive(own_end[0], &message);
		}
	}
	isolator_quiet_leave(caller);
	return 0;
}

int traffic_own_work(unsigned int kind, unsigned int count)
{
	if (!own.due)
		return -EINVAL;
	if (READ_ONCE(*own.due))
		isolator_kernel_tick(&own);
	return work_quietly(&own, kind, count);
}
