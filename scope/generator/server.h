/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Between hosts and the capturing thread: commands one way, packets the other. */
#ifndef SERVER_H
#define SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "capture.h"
#include "link.h"
#include "peers.h"
#include "ring.h"
#include "settings.h"
#include "store.h"

#define SERVER_LINKS 8
#define SERVER_ORDERS_KEPT 40	/* orders that are left for peers that come and go */

struct server {
	int listener;
	int signals;			/* a signalfd: the end */
	struct capture *capture;
	struct ring *ring;
	struct store *store;
	struct peers *peers;
	char *token;			/* what a host has to know */
	uint64_t session;
	uint64_t begin_ns;		/* where the generator's clock is 0 */
	struct floor_result floor;	/* of the last calibration */
	uint32_t floors;
	struct settings settings;
	struct link *links[SERVER_LINKS];
	struct link *host;		/* the one of them that has packets; NULL: none */
	uint64_t state_ns;		/* when the state was asked for */
	bool state_asked;
	char names[SCOPE_LINES_MAX][SCOPE_LINES_NAME];
};

/* Until a signal comes. */
void server_run(struct server *server);

/* To the host of @link, for which there is room. */
void server_welcome(struct server *server, struct link *link);
void server_tell_floor(const struct server *server, struct link *link);

/*
 * Is @frame of @link to be left until the capturing thread has taken more orders?  That thread
 * measures the generator, which takes up to 20 s, or many peers came and went.  None is refused for
 * it: a host would have to tell it from a start that is refused since triggers run.
 */
bool command_waits(const struct server *server, const struct link *link, const struct frame *frame);

/* Obeys one frame of @link that need not wait, and for whose answer there is room (command.c). */
void command_obey(struct server *server, struct link *link, const struct frame *frame);

#endif
