-- One row per worker process. Who is alive is judged here, in database time, never by a
-- host's name or a worker's clock.
create table incarnations (
    id                uuid primary key,
    -- The second half of its advisory lock's key.
    number            integer generated always as identity unique,
    -- For people only.
    host              text not null,
    pid               integer not null,
    lease             interval not null,
    -- How many messages must end without a crash after this one died with several.
    trial_length      integer not null,
    started_at        timestamptz not null default clock_timestamp(),
    -- Since when its session holds without a gap.
    connected_at      timestamptz not null default clock_timestamp(),
    beat_at           timestamptz not null default clock_timestamp(),
    lease_until       timestamptz not null,
    stop_requested_at timestamptz,
    ended_at          timestamptz,
    judged_dead_at    timestamptz,
    -- Open attempts when it was judged dead: one is attributable, several are not.
    in_hand_at_death  integer
);

-- One row per receive, durable before the message is decoded.
create table attempts (
    message_id    text not null,
    number        integer not null,
    -- Made by the worker, so that a repeated insert is the same attempt.
    delivery      uuid not null unique,
    incarnation   uuid not null references incarnations,
    receive_count integer,
    -- Known once the message was decoded.
    job_id        uuid references jobs,
    series        integer,
    state         text not null default 'received'
        check (state in ('received', 'started', 'stepped_back', 'succeeded', 'failed', 'died',
                         'outcome_unknown', 'superseded', 'stopped', 'unattributed', 'outage')),
    -- The last place it is known to have reached.
    stage         text not null default 'attempt-recorded',
    -- Whether it counts toward the limit.
    counted       boolean not null default false,
    reason        text,
    -- Whose failure it was, where it was a dependency's.
    dependency    text,
    diagnostics   text,
    received_at   timestamptz not null default clock_timestamp(),
    started_at    timestamptz,
    ended_at      timestamptz,
    primary key (message_id, number)
);
create index attempts_of_job on attempts (job_id);
create index attempts_of_dependency on attempts (dependency, ended_at) where dependency is not null;
create index attempts_that_died on attempts (ended_at) where state = 'died';
create index attempts_in_hand on attempts (incarnation) where state in ('received', 'started');

-- The advisory lock of an incarnation: (7301, number), held by its session for life.
create function lock_is_held(incarnation_number integer) returns boolean
language sql volatile as $$
    select exists (
        select 1 from pg_locks
        where locktype = 'advisory' and granted and objsubid = 2
          and database = (select oid from pg_database where datname = current_database())
          and classid::bigint = 7301 and objid::bigint = incarnation_number
    )
$$;

-- Whether an incarnation may take a durable step now.
create function may_act(owner uuid) returns boolean
language sql volatile as $$
    select exists (
        select 1 from incarnations
        where id = owner and judged_dead_at is null
          and lease_until > clock_timestamp() and lock_is_held(number)
    )
$$;

-- Whether an incarnation counts as dead in the eyes of another. A lock that is gone is
-- proof, unless the server itself restarted since its owner's last sign: then everybody
-- gets one lease to report back. A lease that is over is proof only for a judge whose own
-- session has held for a whole lease: after an outage nobody is judged at once.
create function is_dead(owner uuid, judge uuid) returns boolean
language sql volatile as $$
    select o.ended_at is not null
        or (not lock_is_held(o.number)
            and (o.beat_at >= pg_postmaster_start_time()
                 or pg_postmaster_start_time() + o.lease < clock_timestamp()))
        or (o.lease_until <= clock_timestamp()
            and j.connected_at + o.lease <= clock_timestamp())
    from incarnations o, incarnations j
    where o.id = owner and j.id = judge
$$;

-- Who died with something in hand, in the eyes of another. Whoever judges does not judge
-- itself, but ends what others found it dead with.
create function died_in_hand(judge uuid) returns setof incarnations
language sql volatile as $$
    select i.* from incarnations i
    where (i.judged_dead_at is not null or i.id <> judge)
      and exists (select 1 from attempts a where a.incarnation = i.id
                  and a.state in ('received', 'started'))
      and is_dead(i.id, judge)
$$;
