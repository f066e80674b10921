// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "statistics/percentile.h"

#define RISK 0.05
#define RISK_SIGMAS 1.645
#define NEGLIGIBLE 1e-15
#define DECIMALS 4	/* of a percentage, by PERCENTILE_WHOLE */

const uint32_t percentiles[] = { 500000, 100000, 10000, 1000, 100, 10, 1, 0 };

uint64_t percentile_needs(uint32_t above)
{
	return (uint64_t)ceil(log(RISK) / log1p(-(double)above / PERCENTILE_WHOLE));
}

static double log_factorial(uint64_t n)
{
	int sign;

	return lgamma_r((double)n + 1, &sign);
}

/* The chance that @m of @n values are above, each with chance @q. */
static double chance(uint64_t n, uint64_t m, double q)
{
	return exp(log_factorial(n) - log_factorial(m) - log_factorial(n - m) +
		   (double)m * log(q) + (double)(n - m) * log1p(-q));
}

/* That at most @m are. */
static double chance_at_most(uint64_t n, uint64_t m, double q)
{
	double one = chance(n, m, q), all = one;

	for (; m && one > NEGLIGIBLE * all; m--) {
		one *= (double)m / (double)(n - m + 1) * (1 - q) / q;
		all += one;
	}
	return all;
}

int64_t percentile_spare(uint64_t count, uint32_t above)
{
	double q = (double)above / PERCENTILE_WHOLE, mean = (double)count * q, guess, all;
	uint64_t m;

	if (count < percentile_needs(above))
		return -1;
	/* From where a normal distribution has it, a few steps to where it is. */
	guess = floor(mean - RISK_SIGMAS * sqrt(mean * (1 - q)));
	m = guess > 0 ? (uint64_t)guess : 0;
	all = chance_at_most(count, m, q);
	while (m && all > RISK)
		all -= chance(count, m--, q);
	while (m + 1 < count && all + chance(count, m + 1, q) <= RISK)
		all += chance(count, ++m, q);
	return (int64_t)m;
}

/* The value of @rank, 1 for the largest; false: it is one that is missing. */
static bool ranked(const struct series *series, uint64_t rank, uint64_t *value)
{
	struct worst worst = series->worst;

	if (rank <= series->missing)
		return false;
	rank -= series->missing;
	if (rank <= worst.count) {
		worst_sort(&worst);
		*value = worst.values[rank - 1].value_ns;
		return true;
	}
	*value = series->max;
	if (rank <= series->overflow)
		return true;
	rank -= series->overflow;
	for (size_t i = series->hist->length; i--;) {
		if (rank > series->hist->counts[i]) {
			rank -= series->hist->counts[i];
			continue;
		}
		if (hist_high(series->hist, i) < *value)
			*value = hist_high(series->hist, i);
		return true;
	}
	return false;
}

struct percentile percentile_find(const struct series *series, uint32_t above)
{
	uint64_t count = series_samples(series) + series->overflow + series->missing;
	struct percentile found = { .above = above, .needs = percentile_needs(above) };
	int64_t spare = percentile_spare(count, above);

	if (count && count * above / PERCENTILE_WHOLE)
		found.known = ranked(series, count - rank_from_least(count, above) + 1,
				     &found.value_ns);
	if (spare >= 0)
		found.bounded = ranked(series, (uint64_t)spare + 1, &found.upper_ns);
	return found;
}

const char *percentile_text(char text[PERCENTILE_TEXT], uint32_t above)
{
	uint32_t part = PERCENTILE_WHOLE - above;
	size_t end;

	snprintf(text, PERCENTILE_TEXT, "%" PRIu32 ".%04" PRIu32, part / 10000, part % 10000);
	for (end = strlen(text); text[end - 1] == '0'; end--)
		;
	text[text[end - 1] == '.' ? end - 1 : end] = '\0';
	return text;
}

bool percentile_parse(const char *text, uint32_t *above)
{
	uint32_t part = 0;
	int decimals = -1;

	if (*text < '0' || *text > '9')
		return false;
	for (; *text; text++) {
		if (*text == '.' && decimals < 0) {
			decimals = 0;
			continue;
		}
		if (*text < '0' || *text > '9' || decimals >= DECIMALS || part >= PERCENTILE_WHOLE)
			return false;
		part = 10 * part + (uint32_t)(*text - '0');
		if (decimals >= 0)
			decimals++;
	}
	for (decimals = decimals < 0 ? 0 : decimals; decimals < DECIMALS; decimals++) {
		if (part >= PERCENTILE_WHOLE)
			return false;
		part *= 10;
	}
	if (!part || part >= PERCENTILE_WHOLE)
		return false;
	*above = PERCENTILE_WHOLE - part;
	return true;
}
