//! Small systems whose queue is a table of PostgreSQL (`tests/tables/`): each is judged as its
//! folder's `expected.json` says.

use crate::foreign::{every_folder_is_tested, judged_as_expected};
use crate::python::Programs;

const TABLES: Programs = Programs {
    folder: "tables",
    imports: "import psycopg, asyncpg",
};

const CASES: [&str; 3] = ["leased", "held", "state"];

#[test]
fn a_claim_that_is_a_time_ends_by_itself() {
    judged_as_expected(&TABLES, CASES[0]);
}

#[test]
fn a_row_that_an_open_transaction_holds_is_in_hand_until_it_ends() {
    judged_as_expected(&TABLES, CASES[1]);
}

#[test]
fn what_functions_of_the_database_do_is_seen() {
    judged_as_expected(&TABLES, CASES[2]);
}

#[test]
fn every_folder_is_a_test() {
    every_folder_is_tested(&TABLES, &CASES);
}
