create table jobs (id bigint generated always as identity (start with 100001) primary key, name text not null);
create table results (job bigint primary key);
