-- A judge whose own lease is over was away itself, and may be the first to wake: before it has
-- reported back it knows nothing of the others.
create or replace function is_dead(owner uuid, judge uuid) returns boolean
language sql volatile as $$
    select o.ended_at is not null
        or (not lock_is_held(o.number)
            and (o.beat_at >= pg_postmaster_start_time()
                 or pg_postmaster_start_time() + o.lease < clock_timestamp()))
        or (o.lease_until <= clock_timestamp()
            and j.lease_until > clock_timestamp()
            and j.connected_at + o.lease <= clock_timestamp())
    from incarnations o, incarnations j
    where o.id = owner and j.id = judge
$$;
