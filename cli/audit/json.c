// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "audit/audit.h"
#include "audit/boot.h"
#include "base/json.h"

#define SCHEMA_VERSION 1

static void put_head(struct json *json, const struct audit_view *view)
{
	static const char *const kinds[] = {
		[CAPTURE_LIVE] = "machine",
		[CAPTURE_DIRECTORY] = "directory",
		[CAPTURE_BUNDLE] = "bundle",
	};
	const struct audit *audit = view->audit;
	const struct capture_file *release = capture_find(audit->capture,
							  "/proc/sys/kernel/osrelease");

	json_document(json, "isolator.audit", SCHEMA_VERSION);
	json_string(json, "kernel", release ? release->value : NULL);
	json_string(json, "source", kinds[audit->capture->kind]);
	json_string(json, "root", audit->capture->root);
	json_bool(json, "isolator", audit->isolator);
	json_cpus(json, "online", &audit->online);
	json_cpus(json, "cpus", &audit->cpus);
	json_string(json, "chosen", audit->chosen);
	json_string(json, "severity", audit_severities[view->least]);
	json_open(json, "checks", '{');
	json_number(json, "judged", audit->judged);
	json_number(json, "absent", audit->absent);
	json_number(json, "unreadable", audit->unreadable);
	json_close(json, '}');
}

static void put_finding(struct json *json, const struct audit_finding *finding)
{
	static const char *const remedies[] = {
		[REMEDY_NONE] = "advice",
		[REMEDY_WRITE] = "write",
		[REMEDY_COMMAND] = "command",
		[REMEDY_BOOT] = "boot",
	};
	static const char *const outcomes[] = {
		[OUTCOME_FIXED] = "fixed",
		[OUTCOME_REFUSED] = "refused",
		[OUTCOME_IGNORED] = "ignored",
		[OUTCOME_PENDING] = "pending",
	};

	json_open(json, NULL, '{');
	json_string(json, "id", finding->check->id);
	json_string(json, "group", finding->group->title);
	json_string(json, "severity", audit_severities[finding->severity]);
	json_string(json, "path", finding->path);
	json_string(json, "value", finding->value);
	json_string(json, "why", finding->check->why);
	json_string(json, "remedy", remedies[finding->remedy]);
	json_string(json, "wanted", finding->wanted);
	json_string(json, "fix", finding->fix);
	json_string(json, "undo", finding->undo);
	if (finding->outcome == OUTCOME_NONE)
		json_null(json, "outcome");
	else
		json_string(json, "outcome", outcomes[finding->outcome]);
	json_string(json, "now", finding->now);
	json_close(json, '}');
}

void audit_json(FILE *out, const struct audit_view *view)
{
	const struct audit *audit = view->audit;
	struct json json = { .out = out };

	put_head(&json, view);
	json_open(&json, "findings", '[');
	for (size_t i = 0; i < audit->count; i++)
		put_finding(&json, &audit->findings[i]);
	json_close(&json, ']');
	boot_json(&json, view->boot);
	json_string(&json, "verdict", audit_open(audit, view->least) ? "unfit" :
		    audit->judged ? "fit" : "inconclusive");
	json_document_end(&json);
}
