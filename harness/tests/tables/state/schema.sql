create table jobs (id bigint generated always as identity (start with 100001) primary key, name text not null, state text not null default 'new', worker uuid);
create table workers (id uuid primary key, seen timestamptz not null);
create function take(me uuid) returns bigint language sql as $$
  update jobs set state = 'taken', worker = me
  where id = (select id from jobs where state = 'new' order by id for update skip locked limit 1) returning id
$$;
create function finish(job bigint) returns void language sql as $$
  update jobs set state = 'done' where id = job
$$;
create function give_back(after interval) returns void language sql as $$
  update jobs set state = 'new', worker = null from workers
  where workers.id = worker and state = 'taken' and seen < clock_timestamp() - after
$$;
