// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * In sysfs, below the device's directory, a file for each mechanism in each of: lines (the
 * line it answers on, or -1), delays (planted ones, in us), answered and overruns (counts).
 */
#include <linux/device.h>
#include <linux/kstrtox.h>
#include <linux/sysfs.h>

#include "scope.h"

#define DELAY_MAX_US 20000	/* with interrupts off, in the mechanism "irq" */

struct knob {
	struct device_attribute attribute;
	enum scope_mechanism_id id;
};

static struct scope *scope_of(struct device *dev)
{
	return container_of(dev_get_drvdata(dev), struct scope, misc);
}

static struct scope_mechanism *mechanism_of(struct device *dev, struct device_attribute *attribute)
{
	return &scope_of(dev)->mechanism[container_of(attribute, struct knob, attribute)->id];
}

static ssize_t line_show(struct device *dev, struct device_attribute *attribute, char *text)
{
	return sysfs_emit(text, "%d\n", READ_ONCE(mechanism_of(dev, attribute)->line));
}

static void say_refused(const struct scope_mechanism *m, int line, int error)
{
	const char *why = "cannot be made ready";

	if (error == -ERANGE)
		why = "is none of its lines, nor -1";
	else if (error == -EADDRINUSE)
		why = "is another one's: write -1 to that first";
	else if (error == -EOPNOTSUPP)
		why = "cannot be: not with this kernel, on wires, or without poll_cpu=";
	dev_err(m->scope->dev, "lines/%s: %d %s (%d); there are %u lines, from 0\n", m->ops->name,
		line, why, error, m->scope->backend->nr_lines);
}

static ssize_t line_store(struct device *dev, struct device_attribute *attribute,
			  const char *text, size_t size)
{
	struct scope_mechanism *m = mechanism_of(dev, attribute);
	struct scope *scope = m->scope;
	int line, error = kstrtoint(text, 0, &line);

	if (error)
		return error;
	mutex_lock(&scope->lock);
	/* These files are gone before the back end is. */
	error = line < -1 || line >= (int)scope->backend->nr_lines ? -ERANGE :
		scope_mechanism_map(m, line);
	/* Who polls maps it anew. */
	if (!error && m == &scope->mechanism[SCOPE_POLL])
		scope_unmap(scope, SCOPE_MAP_POLL);
	if (error)
		say_refused(m, line, error);
	mutex_unlock(&scope->lock);
	return error ? error : size;
}

static ssize_t delay_show(struct device *dev, struct device_attribute *attribute, char *text)
{
	return sysfs_emit(text, "%u\n", READ_ONCE(mechanism_of(dev, attribute)->delay_us));
}

static ssize_t delay_store(struct device *dev, struct device_attribute *attribute,
			   const char *text, size_t size)
{
	unsigned int us;
	int error = kstrtouint(text, 0, &us);

	if (error)
		return error;
	if (us > DELAY_MAX_US)
		return -ERANGE;
	WRITE_ONCE(mechanism_of(dev, attribute)->delay_us, us);
	return size;
}

static ssize_t answered_show(struct device *dev, struct device_attribute *attribute, char *text)
{
	return sysfs_emit(text, "%lu\n", READ_ONCE(mechanism_of(dev, attribute)->answered));
}

static ssize_t overrun_show(struct device *dev, struct device_attribute *attribute, char *text)
{
	return sysfs_emit(text, "%lu\n", READ_ONCE(mechanism_of(dev, attribute)->overrun));
}

static ssize_t spurious_show(struct device *dev, struct device_attribute *attribute, char *text)
{
	return sysfs_emit(text, "%lu\n", READ_ONCE(scope_of(dev)->spurious));
}

static ssize_t nr_lines_show(struct device *dev, struct device_attribute *attribute, char *text)
{
	return sysfs_emit(text, "%u\n", scope_of(dev)->backend->nr_lines);
}

static DEVICE_ATTR_RO(spurious);
static DEVICE_ATTR_RO(nr_lines);

static struct attribute *scope_attributes[] = {
	&dev_attr_spurious.attr, &dev_attr_nr_lines.attr, NULL,
};

static const struct attribute_group scope_group = { .attrs = scope_attributes };

/* What there is for each mechanism. */
static const struct {
	const char *directory;
	umode_t mode;
	ssize_t (*show)(struct device *dev, struct device_attribute *attribute, char *text);
	ssize_t (*store)(struct device *dev, struct device_attribute *attribute, const char *text,
			 size_t size);
} kinds[] = {
	{ "lines", 0644, line_show, line_store },
	{ "delays", 0644, delay_show, delay_store },
	{ "answered", 0444, answered_show, NULL },
	{ "overruns", 0444, overrun_show, NULL },
};

#define KINDS ARRAY_SIZE(kinds)

static struct knob knobs[KINDS][SCOPE_MECHANISMS];
static struct attribute *attributes[KINDS][SCOPE_MECHANISMS + 1];
static struct attribute_group groups[KINDS];

const struct attribute_group *scope_groups[KINDS + 2] = { &scope_group };

void scope_knobs_init(void)
{
	for (size_t kind = 0; kind < KINDS; kind++) {
		for (int id = 0; id < SCOPE_MECHANISMS; id++) {
			struct knob *knob = &knobs[kind][id];

			sysfs_attr_init(&knob->attribute.attr);
			knob->attribute.attr.name = scope_mechanism_ops[id].name;
			knob->attribute.attr.mode = kinds[kind].mode;
			knob->attribute.show = kinds[kind].show;
			knob->attribute.store = kinds[kind].store;
			knob->id = id;
			attributes[kind][id] = &knob->attribute.attr;
		}
		groups[kind].name = kinds[kind].directory;
		groups[kind].attrs = attributes[kind];
		scope_groups[kind + 1] = &groups[kind];
	}
}
