use proptest::prelude::*;

use super::*;

fn statement(sql: &str) -> Shape {
    Shape {
        dependency: "database".into(),
        asked: Asked::Statements(statement::shape(sql)),
    }
}

fn request(method: &str, path: &str) -> Shape {
    Shape {
        dependency: "partner".into(),
        asked: Asked::Request {
            method: method.to_owned(),
            path: path::without_ids(path, []),
        },
    }
}

fn action(action: &str, queue: Option<&str>) -> Shape {
    Shape {
        dependency: "queue".into(),
        asked: Asked::Action {
            action: action.to_owned(),
            queue: queue.map(str::to_owned),
        },
    }
}

fn commit(sql: &str) -> Shape {
    Shape {
        dependency: "database".into(),
        asked: Asked::Commit(statement::shape(sql)),
    }
}

fn is(wanted: &str, shape: &Shape) -> bool {
    Wanted::parse(wanted).unwrap().is(shape)
}

#[test]
fn values_names_and_lengths_of_lists_are_taken_out() {
    for (one, shape) in [
        (
            "UPDATE parcels SET state = 'done', tries = -1 WHERE id = $2;",
            "update parcels set state = ?, tries = ? where id = ?",
        ),
        (
            "insert into \"parcels\" (id, at) values ($1, now()), ($2, now())",
            "insert into parcels (at, id) values (now (), ?)",
        ),
        (
            "select id from jobs where id in (1, 2, 3) and note <> E'it''s'",
            "select id from jobs where id in (?) and note <> ?",
        ),
        ("SAVEPOINT s_140_x1", "savepoint ?"),
        ("ROLLBACK TO SAVEPOINT s_140_x1", "rollback to savepoint ?"),
        ("select $x$ a; b $x$, tries - 1", "select ?, tries - ?"),
        ("select $1::uuid", "select ?::uuid"),
    ] {
        assert_eq!(statement::shape(one), shape, "{one}");
    }
}

#[test]
fn the_order_of_columns_does_not_matter() {
    for (one, other) in [
        (
            "insert into t (b, a) values ($1, now()) on conflict do nothing",
            "insert into t (a, b) values (now(), $1) on conflict do nothing",
        ),
        (
            "update t set b = $1, a = coalesce(a, $2) where id = $3 returning x, y",
            "update t set a = coalesce(a, $1), b = $2 where id = $3 returning y, x",
        ),
        ("select b, a from t", "select a, b from t"),
    ] {
        assert_eq!(statement::shape(one), statement::shape(other));
    }
    assert_ne!(
        statement::shape("update t set a = b"),
        statement::shape("update t set b = a")
    );
}

#[test]
fn a_part_of_a_shape_names_it() {
    let update = statement("UPDATE parcels SET state='sent' WHERE id=$1");
    assert!(is("update parcels", &update));
    assert!(is("UPDATE  \"parcels\"", &update));
    assert!(is("where id = 7", &update));
    assert!(!is("update parcel", &update));
    assert!(!is("update jobs", &update));
    assert!(!is("commit", &update));
    assert!(!is("update", &statement("select 'update parcels'")));
}

#[test]
fn a_commit_is_named_alone_or_by_what_it_makes_durable() {
    let shape = commit("insert into parcels (id) values ($1)");
    assert_eq!(
        shape.to_string(),
        "commit of insert into parcels (id) values (?)"
    );
    assert!(is("COMMIT", &shape));
    assert!(is("commit of insert into parcels", &shape));
    assert!(!is("commit of update parcels", &shape));
    assert!(!is("insert into parcels", &shape));
}

#[test]
fn an_action_is_named_with_or_without_its_queue() {
    let batch = action("DeleteMessageBatch", Some("jobs"));
    assert!(is("DeleteMessage", &batch) && is("DeleteMessage jobs", &batch));
    assert!(!is("DeleteMessage other", &batch));
    assert!(!is(
        "DeleteMessageBatch",
        &action("DeleteMessage", Some("jobs"))
    ));
    assert!(is("ListQueues", &action("ListQueues", None)));
}

#[test]
fn a_request_is_named_by_method_and_route() {
    let get = request("GET", "/parcels/42");
    assert!(is("GET /parcels/{}", &get) && is("GET /parcels/7", &get) && is("GET *", &get));
    assert!(is("* /parcels/{id}", &get) && is("get /parcels/*", &get));
    assert!(!is("GET /parcels", &get) && !is("POST /parcels/{}", &get));
}

#[test]
fn what_names_no_shape_says_why() {
    assert_eq!(Wanted::parse("  "), Err(NotAShape::Empty));
    assert_eq!(
        Wanted::parse("POST"),
        Err(NotAShape::NoPath("POST".to_owned()))
    );
    assert_eq!(Wanted::parse("-- update"), Err(NotAShape::Empty));
}

#[test]
fn the_nearest_shapes_come_first() {
    let shapes = [
        action("DeleteMessage", Some("jobs")),
        statement("update parcels set a = $1"),
        statement("select 1"),
    ];
    let wanted = Wanted::parse("update parcel").unwrap();
    let nearest: Vec<String> = wanted
        .nearest(&shapes, 2)
        .into_iter()
        .map(Shape::to_string)
        .collect();
    assert_eq!(nearest[0], "update parcels set a = ?");
    assert_eq!(nearest.len(), 2);
}

proptest! {
    #[test]
    fn any_text_has_a_shape_that_reads_back_to_itself(text in "[-/*'\"$a-c(),;.:?0-9 \n]{0,40}|\\PC{0,60}") {
        let once = statement::shape(&text);
        prop_assert_eq!(statement::shape(&once), once);
    }

    #[test]
    fn any_shape_is_named_by_its_own_text(text in "[-/*'\"$a-c(),;.:?0-9 \n]{0,40}|(select|update|insert into) [a-c(),' =0-9]{0,40}") {
        let shape = statement(&text);
        let Ok(wanted) = Wanted::parse(&shape.to_string()) else {
            return Ok(());
        };
        prop_assert!(wanted.is(&shape) || is_other_protocol(&shape.to_string()));
    }

    #[test]
    fn white_space_and_case_do_not_matter(
        words in proptest::collection::vec("[a-z]{1,6}|=|,|\\(|\\)|'[a-z ]{0,4}'|[0-9]{1,3}", 1..20),
        gap in " |\n|\t  ",
    ) {
        let one = words.join(" ");
        let other = words.join(&gap).to_uppercase();
        prop_assert_eq!(statement::shape(&one), statement::shape(&other));
    }

    #[test]
    fn values_do_not_matter(number in -1000_i64..1000, text in "[a-z']{0,8}") {
        let literal = format!("'{}'", text.replace('\'', "''"));
        let inlined = format!("update t set a = {number}, b = {literal} where c = {number}");
        prop_assert_eq!(
            statement::shape(&inlined),
            statement::shape("update t set a = $1, b = $2 where c = $3")
        );
    }

    #[test]
    fn columns_in_any_order_have_one_shape(
        columns in Just((0..6).map(|n| format!("c{n}")).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        let binds: Vec<String> = (1..=6).map(|n| format!("${n}")).collect();
        let sql = format!("insert into t ({}) values ({})", columns.join(", "), binds.join(", "));
        let ordered = "insert into t (c0, c1, c2, c3, c4, c5) values (?, ?, ?, ?, ?, ?)";
        prop_assert_eq!(statement::shape(&sql), ordered);
    }

    #[test]
    fn any_path_is_named_by_its_own_shape(path in "(/[a-zA-Z0-9._-]{0,8}){1,5}") {
        let shape = request("GET", &path);
        prop_assert!(is(&shape.to_string(), &shape));
        let written = ["GET", &path].join(" ");
        prop_assert!(is(&written, &shape));
    }
}

fn is_other_protocol(text: &str) -> bool {
    text.starts_with("commit") || text.contains('/')
}
