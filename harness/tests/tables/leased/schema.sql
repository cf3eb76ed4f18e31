create table jobs (id bigint generated always as identity (start with 100001) primary key, name text not null, tries int not null default 0, hidden_until timestamptz not null default '-infinity', done boolean not null default false);
create table results (job bigint primary key);
