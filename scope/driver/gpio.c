// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The back end of wires: an input whose rising edge is the trigger, and outputs. A line has no
 * room for a sequence: each answer is an edge, up or down. Which trigger an edge answers is for
 * the generator to tell, as far as it can be told (docs/scope-protocol.md).
 *
 * From the device tree (compatible "isolator,scope", trigger-gpios, line-gpios), or as
 * gpio=CHIP:TRIGGER,LINE[,LINE...]: the chip's label (gpiodetect), and offsets on it.
 */
#include <linux/gpio/consumer.h>
#include <linux/gpio/machine.h>
#include <linux/irq.h>
#include <linux/mod_devicetable.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/slab.h>

#include "scope.h"

#define NAME "isolator-scope-gpio"

static char *gpio;
module_param(gpio, charp, 0444);
MODULE_PARM_DESC(gpio, "CHIP:TRIGGER,LINE[,LINE...]: wires, by the chip's label and offsets");

struct wires {
	struct scope_backend backend;
	struct gpio_desc *trigger;
	struct gpio_descs *lines;
	bool *high;		/* each line's level; of who answers there */
	u32 sequence;		/* the interrupt's: triggers are counted here */
};

static struct platform_device *gpio_device;
static struct gpiod_lookup_table *gpio_table;

static irqreturn_t on_edge(int irq, void *data)
{
	struct scope *scope = data;
	struct wires *wires = scope->lines;

	if (!++wires->sequence)
		wires->sequence = 1;
	return scope_trigger(scope, wires->sequence);
}

static void gpio_answer(struct scope *scope, unsigned int line, u32 sequence)
{
	struct wires *wires = scope->lines;

	wires->high[line] = !wires->high[line];
	gpiod_set_value(wires->lines->desc[line], wires->high[line]);
}

/* Outputs, at the level that they have: to load the driver is no edge. */
static int take_lines(struct device *dev, struct wires *wires)
{
	struct gpio_descs *lines = devm_gpiod_get_array(dev, "line", GPIOD_ASIS);
	int error;

	if (IS_ERR(lines))
		return dev_err_probe(dev, PTR_ERR(lines), "cannot get a line\n");
	wires->high = devm_kcalloc(dev, lines->ndescs, sizeof(*wires->high), GFP_KERNEL);
	if (!wires->high)
		return -ENOMEM;
	for (unsigned int i = 0; i < lines->ndescs; i++) {
		if (gpiod_cansleep(lines->desc[i]))
			return dev_err_probe(dev, -EINVAL,
					     "line %u is set by a bus: no interrupt can answer on it\n",
					     i);
		wires->high[i] = gpiod_get_value(lines->desc[i]) > 0;
		error = gpiod_direction_output(lines->desc[i], wires->high[i]);
		if (error)
			return dev_err_probe(dev, error, "line %u is not an output\n", i);
	}
	wires->lines = lines;
	return 0;
}

static int gpio_probe(struct platform_device *pdev)
{
	struct device *dev = &pdev->dev;
	struct wires *wires = devm_kzalloc(dev, sizeof(*wires), GFP_KERNEL);
	struct scope *scope;
	int irq, error;

	if (!wires)
		return -ENOMEM;
	wires->trigger = devm_gpiod_get(dev, "trigger", GPIOD_IN);
	if (IS_ERR(wires->trigger))
		return dev_err_probe(dev, PTR_ERR(wires->trigger), "cannot get the trigger\n");
	if (gpiod_cansleep(wires->trigger))
		return dev_err_probe(dev, -EINVAL,
				     "the trigger is read by a bus: its interrupt is a thread's\n");
	error = take_lines(dev, wires);
	if (error)
		return error;
	irq = gpiod_to_irq(wires->trigger);
	if (irq < 0)
		return dev_err_probe(dev, irq, "the trigger's pin makes no interrupts\n");
	error = irq_set_irq_type(irq, IRQ_TYPE_EDGE_RISING);
	if (error)
		return dev_err_probe(dev, error, "the trigger's pin tells no rising edges\n");
	wires->backend.nr_lines = wires->lines->ndescs;
	wires->backend.answer = gpio_answer;
	scope = scope_create(dev, &wires->backend, wires, irq, on_edge);
	return PTR_ERR_OR_ZERO(scope);
}

static void gpio_remove(struct platform_device *pdev)
{
	scope_destroy(platform_get_drvdata(pdev));
}

static const struct of_device_id gpio_of_ids[] = {
	{ .compatible = "isolator,scope" },
	{ }
};
MODULE_DEVICE_TABLE(of, gpio_of_ids);

static struct platform_driver gpio_driver = {
	.driver = {
		.name = NAME,
		.of_match_table = gpio_of_ids,
		/* See make_device(). */
		.probe_type = PROBE_FORCE_SYNCHRONOUS,
	},
	.probe = gpio_probe,
	.remove = gpio_remove,
};

/* A lookup table in place of a device tree; its key is the chip's name, to be freed. */
static struct gpiod_lookup_table *parse(void)
{
	struct gpiod_lookup_table *table = NULL;
	char *chip = kstrdup(gpio, GFP_KERNEL), *at = chip ? strrchr(chip, ':') : NULL;
	unsigned int count = 1;
	u16 offset;

	if (!chip)
		return ERR_PTR(-ENOMEM);
	if (at)
		*at++ = 0;
	for (const char *c = at; c && *c; c++)
		count += *c == ',';
	if (!at || !*chip || count < 2)
		goto bad;
	table = kzalloc(struct_size(table, table, count + 1), GFP_KERNEL);
	if (!table) {
		kfree(chip);
		return ERR_PTR(-ENOMEM);
	}
	table->dev_id = NAME;
	for (unsigned int i = 0; i < count; i++) {
		/* The highest one means to gpiolib that the key is a line's name. */
		if (kstrtou16(strsep(&at, ","), 0, &offset) || offset == U16_MAX)
			goto bad;
		table->table[i] = GPIO_LOOKUP_IDX(chip, offset, i ? "line" : "trigger",
						  i ? i - 1 : 0, GPIO_ACTIVE_HIGH);
	}
	return table;

bad:
	pr_err("isolator_scope: gpio=%s: CHIP:TRIGGER,LINE[,LINE...] is wanted, such as gpio=9030000.pl061:0,1,2\n",
	       gpio);
	kfree(table);
	kfree(chip);
	return ERR_PTR(-EINVAL);
}

static void free_table(void)
{
	kfree(gpio_table->table[0].key);
	kfree(gpio_table);
}

/* It is probed here and now: what it cannot have, it does not wait for. */
static int make_device(void)
{
	int error;

	gpio_table = parse();
	if (IS_ERR(gpio_table))
		return PTR_ERR(gpio_table);
	gpiod_add_lookup_table(gpio_table);
	gpio_device = platform_device_register_simple(NAME, PLATFORM_DEVID_NONE, NULL, 0);
	error = PTR_ERR_OR_ZERO(gpio_device);
	if (!error && device_is_bound(&gpio_device->dev))
		return 0;
	if (!error) {
		pr_err("isolator_scope: gpio=%s: cannot get it, see above; gpiodetect lists chips by their label, gpioinfo their lines and who has them\n",
		       gpio);
		platform_device_unregister(gpio_device);
		error = -ENODEV;
	}
	gpio_device = NULL;
	gpiod_remove_lookup_table(gpio_table);
	free_table();
	return error;
}

int scope_gpio_init(void)
{
	int error = platform_driver_register(&gpio_driver);

	if (!error && gpio) {
		error = make_device();
		if (error)
			platform_driver_unregister(&gpio_driver);
	}
	return error;
}

void scope_gpio_exit(void)
{
	if (gpio_device) {
		platform_device_unregister(gpio_device);
		gpiod_remove_lookup_table(gpio_table);
		free_table();
	}
	platform_driver_unregister(&gpio_driver);
}
