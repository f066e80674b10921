// SPDX-License-Identifier: GPL-2.0-only
/*
 * Isolator: the static keys that put its hooks in, and take them out.
 *
 * Each change patches hundreds of places and makes every other CPU serialise several
 * times.  So the keys linger: who starts and stops in a loop patches once, not each time.
 */
#include <linux/atomic.h>
#include <linux/isolator.h>
#include <linux/jump_label.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>

#include "internal.h"

/* How long the keys stay on after the last end. */
#define ISOLATOR_KEYS_LINGER	HZ

DEFINE_STATIC_KEY_FALSE(isolator_key);
EXPORT_SYMBOL_GPL(isolator_key);

/* Whether the keys are on.  Who switches them waits for hot-plug, who ends does not. */
static DEFINE_MUTEX(isolator_keys_mutex);
static bool isolator_keys_on;

/* Starts that are not restored yet. */
static atomic_t isolator_users = ATOMIC_INIT(0);

static void isolator_keys_off(struct work_struct *work)
{
	mutex_lock(&isolator_keys_mutex);
	/* A start that counts from here on finds them off, once it has the mutex. */
	if (!atomic_read(&isolator_users) && isolator_keys_on) {
		isolator_keys_on = false;
		static_branch_dec(&isolator_key);
		ct_isolator_key(false);
	}
	mutex_unlock(&isolator_keys_mutex);
}

static DECLARE_DELAYED_WORK(isolator_keys_work, isolator_keys_off);

/**
 * isolator_keys_get - the hooks are in from here until isolator_keys_put()
 *
 * Context: process, may sleep, takes the hot-plug lock for reading.
 */
void isolator_keys_get(void)
{
	atomic_inc(&isolator_users);
	mutex_lock(&isolator_keys_mutex);
	if (!isolator_keys_on) {
		isolator_keys_on = true;
		ct_isolator_key(true);
		static_branch_inc(&isolator_key);
	}
	mutex_unlock(&isolator_keys_mutex);
}

/**
 * isolator_keys_put - undoes one isolator_keys_get(); the last one counts down
 *
 * Hooks that stay in longer find no isolated CPU: they look, and go on.
 * Context: any that may queue work.
 */
void isolator_keys_put(void)
{
	if (atomic_dec_and_test(&isolator_users))
		mod_delayed_work(system_unbound_wq, &isolator_keys_work,
				 ISOLATOR_KEYS_LINGER);
}
