// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server.h"

#define BUSY_MS 5		/* from one look for records to the next */
#define IDLE_MS 50
#define HELLO_NS (5 * NS_PER_S)	/* a connection that says nothing is closed then */
#define STATE_NS NS_PER_S
#define PACKET_AGE_NS NS_PER_S
#define RECORDS 65536		/* taken at a time */
#define LAST_MS 500		/* for what is still to be sent at the end */

void server_welcome(struct server *server, struct link *link)
{
	struct message message = {
		.type = MESSAGE_WELCOME,
		.number = {
			[WELCOME_VERSION] = FRAME_VERSION,
			[WELCOME_SESSION] = server->session,
			[WELCOME_FIRST_PACKET] = server->store->first,
			[WELCOME_NEXT_PACKET] = server->store->next,
			[WELCOME_RESOLUTION] = server->floor.resolution,
			[WELCOME_NOW] = clock_now() - server->begin_ns,
		},
		.items = SCOPE_LINES_MAX,
		.tail = (const uint8_t *)server->names,
		.tail_size = sizeof(server->names),
	};

	link_send(link, &message);
}

void server_tell_floor(const struct server *server, struct link *link)
{
	const struct floor_result *floor = &server->floor;
	struct message message = {
		.type = MESSAGE_FLOOR,
		.number = {
			[FLOOR_ROUNDS] = floor->rounds,
			[FLOOR_RESOLUTION] = floor->resolution,
			[FLOOR_LOOPBACK_P50] = floor->loopback_p50,
			[FLOOR_LOOPBACK_P99] = floor->loopback_p99,
			[FLOOR_LOOPBACK_MAX] = floor->loopback_max,
			[FLOOR_JITTER_P50] = floor->jitter_p50,
			[FLOOR_JITTER_P99] = floor->jitter_p99,
			[FLOOR_JITTER_MAX] = floor->jitter_max,
		},
	};

	link_send(link, &message);
}

static void tell_state(struct server *server, struct link *link)
{
	const struct capture_state *state = &server->capture->state;
	const struct settings *settings = &state->settings;
	uint8_t lines[SCOPE_LINES_MAX][MESSAGE_LINE];
	struct message message = {
		.type = MESSAGE_STATE,
		.number = {
			[STATE_NOW] = clock_now() - server->begin_ns,
			[STATE_MILLIHERTZ] = settings->millihertz,
			[STATE_DUTY] = settings->duty_ppm,
			[STATE_RECORDS] = settings->records,
			[STATE_PHASE] = settings->random,
			[STATE_SEED] = settings->seed,
			[STATE_MASK] = settings->mask,
			[STATE_BURST] = settings->burst,
			[STATE_GAP] = settings->gap_ns,
			[STATE_PATIENCE] = settings->patience_ns,
			[STATE_RUNNING] = state->running,
			[STATE_TRIGGERS] = state->triggers,
			[STATE_UNSENT] = ring_unsent(server->ring) + server->store->unsent,
			[STATE_LOST] = state->lost,
		},
		.items = SCOPE_LINES_MAX,
		.tail = lines[0],
		.tail_size = sizeof(lines),
	};

	for (unsigned int i = 0; i < SCOPE_LINES_MAX; i++) {
		frame_put(lines[i] + 8 * LINE_ANSWERED, state->lines[i].answered, 8);
		frame_put(lines[i] + 8 * LINE_LATE, state->lines[i].late, 8);
		frame_put(lines[i] + 8 * LINE_MISSING, state->lines[i].missing, 8);
		frame_put(lines[i] + 8 * LINE_STRAYS, state->lines[i].strays, 8);
	}
	link_send(link, &message);
}

static void look_for_peers(struct server *server)
{
	uint64_t id;
	int file;

	while (capture_room(server->capture)) {
		switch (peers_next(server->peers, &id, &file)) {
		case PEERS_NONE:
			return;
		case PEERS_CAME:
			capture_order(server->capture, &(struct order){
				.type = ORDER_PEER, .number = id, .file = file,
			});
			break;
		case PEERS_WENT:
			capture_order(server->capture, &(struct order){
				.type = ORDER_NO_PEER, .number = id,
			});
			break;
		case PEERS_SERVER_WENT:
			fprintf(stderr, "isolator-generator: the ivshmem server has gone: no other target can connect; end this generator and start it again for that\n");
			return;
		}
	}
}

static void look_at_ring(struct server *server, uint64_t now)
{
	bool busy = capture_busy(server->capture);
	uint8_t record[RECORD_MAX];
	size_t size = 0;

	for (unsigned int i = 0; i < RECORDS; i++) {
		size = ring_take(server->ring, record);
		if (!size)
			break;
		store_add(server->store, record, size, server->settings.records, now);
	}
	if (server->host)
		store_tell_gaps(server->store, server->settings.records, now);
	if ((!size && !busy) || store_is_old(server->store, now, PACKET_AGE_NS))
		store_complete(server->store);
}

static void end_link(struct server *server, unsigned int which)
{
	if (server->host == server->links[which])
		server->host = NULL;
	link_close(server->links[which]);
	server->links[which] = NULL;
}

/*
 * A place for a new link: a free one, or that of the oldest whose HELLO was not accepted.  Such
 * peers could keep the host out else; of those that were welcomed only one stays.
 */
static unsigned int make_place(struct server *server)
{
	unsigned int oldest = SERVER_LINKS;

	for (unsigned int i = 0; i < SERVER_LINKS; i++) {
		const struct link *link = server->links[i];

		if (!link)
			return i;
		if (!link->welcomed && (oldest == SERVER_LINKS ||
					link->since_ns < server->links[oldest]->since_ns))
			oldest = i;
	}
	if (oldest < SERVER_LINKS)
		end_link(server, oldest);
	return oldest;
}

static void take_connection(struct server *server, uint64_t now)
{
	int socket = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	static const int on = 1;
	unsigned int place;

	if (socket < 0)
		return;
	place = make_place(server);
	if (place == SERVER_LINKS) {
		close(socket);
		return;
	}
	setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	server->links[place] = link_open(socket, now);
}

/* False: the link is to be closed. */
static bool take_commands(struct server *server, struct link *link)
{
	struct frame frame;
	size_t length;

	/* Who does not read its answers is not listened to. */
	while (!link->ending && link_room(link) >= LINK_RESERVE) {
		int got = link_frame(link, &frame, &length);

		if (got <= 0)
			return !got;
		if (command_waits(server, link, &frame))
			return true;
		command_obey(server, link, &frame);
		link_done(link, length);
	}
	return true;
}

static bool serve_link(struct server *server, struct link *link, bool readable, uint64_t now)
{
	if (readable && !link_read(link))
		return false;
	if (!take_commands(server, link) || !link_flush(link))
		return false;
	if (link->ending && link->out_begin == link->out_end)
		return false;
	return link->welcomed ? !link->ending : now - link->since_ns < HELLO_NS;
}

static void tell_host(struct server *server, uint64_t now)
{
	struct link *host = server->host;

	if (host->next_packet < server->store->first)
		host->next_packet = server->store->first;
	while (host->next_packet < server->store->next) {
		size_t room = link_room(host);
		size_t size = room <= LINK_RESERVE ? 0 :
			store_frame(server->store, host->next_packet, ring_unsent(server->ring),
				    link_place(host), room - LINK_RESERVE, host->sequence_out);

		if (!size)
			break;
		link_added(host, size);
		host->next_packet++;
		/* The more is sent now the fewer are kept. */
		if (link_room(host) < LINK_FRAME && !link_flush(host))
			break;
	}
	if (server->state_asked && capture_state_ready(server->capture) &&
	    link_room(host) >= LINK_RESERVE) {
		server->state_asked = false;
		tell_state(server, host);
	}
	if (!server->state_asked && now - server->state_ns >= STATE_NS) {
		server->state_asked = true;
		server->state_ns = now;
		capture_ask(server->capture);
	}
}

static void look_for_news(struct server *server)
{
	char names[SCOPE_LINES_MAX][SCOPE_LINES_NAME] = { { 0 } };
	uint32_t offered = lines_offered(server->capture->lines);
	uint32_t floors = capture_floors(server->capture);
	bool room = server->host && link_room(server->host) >= LINK_RESERVE;

	/* What is new while nobody can be told stands in the next WELCOME. */
	for (unsigned int i = 0; i < SCOPE_LINES_MAX; i++)
		if (offered >> i & 1)
			lines_name(server->capture->lines, i, names[i]);
	if (memcmp(names, server->names, sizeof(names)) && (room || !server->host)) {
		memcpy(server->names, names, sizeof(names));
		if (server->host)
			server_welcome(server, server->host);
	}
	if (floors != server->floors && (room || !server->host)) {
		server->floors = floors;
		server->floor = server->capture->floor;
		if (server->host)
			server_tell_floor(server, server->host);
	}
}

static void send_last(struct server *server)
{
	uint64_t limit = clock_now() + LAST_MS * (NS_PER_S / 1000);

	if (!server->host)
		return;
	do {
		struct pollfd file = { .fd = server->host->socket, .events = POLLOUT };

		tell_host(server, server->state_ns);
		if (!link_flush(server->host))
			return;
		if (server->host->out_begin == server->host->out_end &&
		    server->host->next_packet == server->store->next)
			return;
		poll(&file, 1, BUSY_MS);
	} while (clock_now() < limit);
}

static bool round_of(struct server *server)
{
	/* Peers for whom there is no room would keep this thread awake. */
	struct pollfd files[3 + SERVER_LINKS] = {
		{ .fd = server->signals, .events = POLLIN },
		{ .fd = server->listener, .events = POLLIN },
		{ .fd = server->peers->socket,
		  .events = capture_room(server->capture) ? POLLIN : 0 },
	};
	uint64_t now;

	for (unsigned int i = 0; i < SERVER_LINKS; i++) {
		const struct link *link = server->links[i];

		files[3 + i].fd = link ? link->socket : -1;
		if (!link)
			continue;
		files[3 + i].events = link->in_used < sizeof(link->in) ? POLLIN : 0;
		files[3 + i].events |= link->out_begin < link->out_end ? POLLOUT : 0;
	}
	if (poll(files, 3 + SERVER_LINKS, capture_busy(server->capture) ? BUSY_MS : IDLE_MS) < 0)
		return errno == EINTR;
	if (files[0].revents)
		return false;
	now = clock_now();
	if (files[2].revents)
		look_for_peers(server);
	if (files[1].revents)
		take_connection(server, now);
	look_at_ring(server, now);
	look_for_news(server);
	for (unsigned int i = 0; i < SERVER_LINKS; i++)
		if (server->links[i] &&
		    !serve_link(server, server->links[i],
				files[3 + i].revents & (POLLIN | POLLHUP | POLLERR), now))
			end_link(server, i);
	if (server->host) {
		tell_host(server, now);
		link_flush(server->host);
	}
	return true;
}

void server_run(struct server *server)
{
	while (round_of(server))
		continue;
	while (!capture_room(server->capture))
		poll(NULL, 0, BUSY_MS);
	capture_order(server->capture, &(struct order){ .type = ORDER_QUIT });
	pthread_join(server->capture->thread, NULL);
	look_at_ring(server, clock_now());
	store_complete(server->store);
	send_last(server);
	for (unsigned int i = 0; i < SERVER_LINKS; i++)
		if (server->links[i])
			end_link(server, i);
}
