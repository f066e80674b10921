// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stdio.h>

#include "message.h"
#include "scope_lines.h"
#include "settings.h"

#define MILLIHERTZ_MAX UINT64_C(1000000000)
#define DUTY_MAX 999999
#define RECORDS_MAX 1000
#define BURST_MAX 1000
#define PATIENCE_MIN UINT64_C(1000)
#define PATIENCE_MAX UINT64_C(10000000000)
#define LINES ((UINT64_C(1) << SCOPE_LINES_MAX) - 1)

uint64_t settings_period_ns(const struct settings *settings)
{
	return UINT64_C(1000000000000) / settings->millihertz;
}

/* A random phase leaves half a period between two bursts at least. */
static bool burst_fits(const struct settings *settings)
{
	uint64_t half = settings_period_ns(settings) / 2;

	return settings->burst == 1 ||
	       (settings->gap_ns && settings->gap_ns <= half / (settings->burst - 1U));
}

static bool within(uint64_t value, uint64_t least, uint64_t most, const char *unit, char *why,
		   size_t size)
{
	if (value >= least && value <= most)
		return true;
	snprintf(why, size, "from %" PRIu64 " to %" PRIu64 " %s, not %" PRIu64, least, most, unit,
		 value);
	return false;
}

static bool set(struct settings *settings, const struct message *message, char *why, size_t size)
{
	const uint64_t *number = message->number;

	switch (message->type) {
	case MESSAGE_SET_FREQUENCY:
		settings->millihertz = number[0];
		return within(number[0], 1, MILLIHERTZ_MAX, "mHz", why, size);
	case MESSAGE_SET_DUTY:
		settings->duty_ppm = (uint32_t)number[0];
		return within(number[0], 1, DUTY_MAX, "ppm", why, size);
	case MESSAGE_SET_PACKET:
		settings->records = (uint16_t)number[0];
		return within(number[0], 1, RECORDS_MAX, "records", why, size);
	case MESSAGE_SET_PHASE:
		settings->random = number[PHASE_MODE];
		settings->seed = number[PHASE_SEED];
		return within(number[PHASE_MODE], 0, 1, "(0 fixed, 1 random)", why, size);
	case MESSAGE_SET_LINES:
		settings->mask = number[0];
		if (!(number[0] & ~LINES))
			return true;
		snprintf(why, size, "there are lines 0 to %u only", SCOPE_LINES_MAX - 1);
		return false;
	case MESSAGE_SET_BURST:
		settings->burst = (uint16_t)number[BURST_TRIGGERS];
		settings->gap_ns = number[BURST_GAP];
		return within(number[BURST_TRIGGERS], 1, BURST_MAX, "triggers", why, size);
	default:
		settings->patience_ns = number[0];
		return within(number[0], PATIENCE_MIN, PATIENCE_MAX, "ns", why, size);
	}
}

bool settings_take(struct settings *settings, const struct message *message, char *why,
		   size_t size)
{
	struct settings changed = *settings;

	if (!set(&changed, message, why, size))
		return false;
	if (!burst_fits(&changed)) {
		snprintf(why, size, "a burst of %u triggers, %" PRIu64 " ns apart, must be shorter than half a period of %" PRIu64 " ns",
			 changed.burst, changed.gap_ns, settings_period_ns(&changed));
		return false;
	}
	*settings = changed;
	return true;
}
