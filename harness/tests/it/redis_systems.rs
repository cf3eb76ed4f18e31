//! Small systems whose queue is Redis (`tests/redis/`): each is judged as its folder's
//! `expected.json` says.

use crate::foreign::{every_folder_is_tested, judged_as_expected};
use crate::python::Programs;

const REDIS: Programs = Programs {
    folder: "redis",
    imports: "import redis",
};

const CASES: [&str; 6] = [
    "list-second",
    "stream-group",
    "delayed-set",
    "kept-after-pop",
    "two-owners",
    "finished-dead-letter",
];

#[test]
fn a_second_list_keeps_what_is_worked_on() {
    judged_as_expected(&REDIS, CASES[0]);
}

#[test]
fn an_entry_is_acknowledged_after_its_work() {
    judged_as_expected(&REDIS, CASES[1]);
}

#[test]
fn a_member_of_a_set_of_delays_moves_in_one_step() {
    judged_as_expected(&REDIS, CASES[2]);
}

#[test]
fn what_is_popped_first_and_kept_afterwards_is_lost_in_between() {
    judged_as_expected(&REDIS, CASES[3]);
}

#[test]
fn an_entry_that_its_owner_works_on_is_not_claimed() {
    judged_as_expected(&REDIS, CASES[4]);
}

#[test]
fn what_is_done_is_no_dead_letter() {
    judged_as_expected(&REDIS, CASES[5]);
}

#[test]
fn every_folder_is_a_test() {
    every_folder_is_tested(&REDIS, &CASES);
}
