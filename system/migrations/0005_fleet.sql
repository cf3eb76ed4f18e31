-- Whether workers may take messages, and how many. One row; stopped > paused > trial > normal.
create table fleet (
    only_row       boolean primary key default true check (only_row),
    -- Set when going on would lose or condemn messages. An operator resumes.
    stopped_reason text,
    stopped_at     timestamptz,
    -- A dependency's name, `several deaths`, or `operator`.
    paused_reason  text,
    paused_at      timestamptz,
    -- How many messages must still end without a crash, with one in hand.
    trial_left     integer,
    trial_at       timestamptz,
    -- What the brake and the probes after deaths looked at already.
    brake_since    timestamptz not null default '-infinity',
    deaths_since   timestamptz not null default '-infinity'
);
insert into fleet default values;

-- What workers depend on. Written only when something changes, so that nobody waits for
-- this row while all is well.
create table dependencies (
    name            text primary key,
    failing         boolean not null default false,
    last_success_at timestamptz not null default '-infinity',
    -- An outage was declared since the last success.
    outage          boolean not null default false,
    -- Whoever started before this may still fail because of it.
    outage_ended_at timestamptz not null default '-infinity'
);
insert into dependencies (name) values ('document store'), ('outside service');

create index jobs_ended on jobs (ended_at) where ended_at is not null;
