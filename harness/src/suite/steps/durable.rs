//! What is durable at the end, as exploring compares it: counterexamples are written in
//! these phrases.

use super::objections;
use crate::explore::{Durability, NOTHING};
use crate::gherkin::{Objection, Row, Step, StepError, Table};
use crate::suite::Scene;

const GROUP: &str = "durability";
/// Where sequences begin: as in rehearsals of an exploration.
const LARGE: i64 = 700_000;

pub(super) fn pack() -> Vec<Step<Scene>> {
    vec![
        Step::given("databases hand out large numbers")
            .doc("Sequences of every database begin at 700,000, so that no small number in a row is taken for an id.")
            .example("Given databases hand out large numbers")
            .group(GROUP)
            .run(|scene: &mut Scene, _, _, _| {
                Box::pin(async move {
                    scene.plan("where sequences begin")?.survey(LARGE);
                    Ok(())
                })
            }),
        Step::then("this is durable")
            .doc("Compares what is durable once everything is quiet: all rows of a table that name a message (`| table parcels | {\"id\":\"<M1>\"} |`, the columns that stand there), all writes of a service (`| service partner | POST /labels of M1 |`), and how many messages a queue holds (`| queue queue/jobs | 0 |`). Where there should be none, write `nothing`.")
            .example("Then this is durable")
            .group(GROUP)
            .checked(|_, table| read(table).err().unwrap_or_default())
            .table()
            .run(|scene: &mut Scene, _, table, _| {
                Box::pin(async move {
                    let expected = read(table.as_ref())
                        .map_err(|mut objections| StepError::from(objections.remove(0)))?;
                    scene.snapshot().await?;
                    let durable = scene.running().await?.durable().await;
                    let durable = durable.map_err(StepError::broken)?;
                    let mut rows = Vec::new();
                    for durability in &expected {
                        let seen = durability
                            .seen(&durable)
                            .map_err(StepError::invalid)?;
                        rows.push(Row::new(
                            durability.place(),
                            durability.expected(),
                            seen,
                        ));
                    }
                    if rows.iter().all(Row::agrees) {
                        return Ok(());
                    }
                    Err(StepError::differs("something else is durable", rows))
                })
            }),
    ]
}

/// The places of a table, each with all that should be there.
fn read(table: Option<&Table>) -> Result<Vec<Durability>, Vec<Objection>> {
    let pairs = table.and_then(Table::pairs);
    let Some(pairs) = pairs.filter(|pairs| !pairs.is_empty()) else {
        let missing = StepError::invalid("a table of two columns belongs below this step")
            .with_help("write what is durable where: `| queue queue/jobs | 0 |`");
        return Err(objections::<()>(Err(missing)));
    };
    let mut places: Vec<Durability> = Vec::new();
    let mut wrong = Vec::new();
    for (row, (place, line)) in pairs.into_iter().enumerate() {
        let line = (line != NOTHING).then_some(line);
        if let Some(known) = places.iter_mut().find(|known| known.is_at(place)) {
            if let Err(error) = known.add(line) {
                wrong.extend(
                    objections::<()>(Err(StepError::invalid(error)))
                        .into_iter()
                        .map(|one| one.at(row)),
                );
            }
            continue;
        }
        match Durability::new(place, line) {
            Ok(durability) => places.push(durability),
            Err(error) => wrong.extend(
                objections::<()>(Err(StepError::invalid(error)))
                    .into_iter()
                    .map(|one| one.at(row)),
            ),
        }
    }
    if wrong.is_empty() {
        Ok(places)
    } else {
        Err(wrong)
    }
}
