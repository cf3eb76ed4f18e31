//! `rehearse clean`: removes what earlier runs left behind.

use super::{Application, Halt, Surroundings};
use crate::gherkin::Exit;

pub(super) fn clean<A: Application>(
    application: &A,
    surroundings: &mut Surroundings,
) -> Result<Exit, Halt> {
    let mut removed = 0_usize;
    let mut say = |text: &str| {
        removed += 1;
        surroundings.say(&format!("{text}\n"));
    };
    application.clean(&mut say).map_err(Halt::step)?;
    if removed == 0 {
        surroundings.say("nothing was left behind\n");
    }
    Ok(Exit::Passed)
}
