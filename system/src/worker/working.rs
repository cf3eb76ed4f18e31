//! A started attempt: read, extract, write outside, commit.

use std::time::Duration;

use tokio::time::Instant;
use uuid::Uuid;

use super::Worker;
use super::handling::Receipt;
use crate::documents::DocumentError;
use crate::extract::extract;
use crate::outside::Answer;
use crate::store::StoreError;
use crate::store::attempts::{AttemptKey, Ending, Step};
use crate::store::dependencies::{Blame, Dependency};
use crate::store::outside::Known;

/// What is to be done.
pub(super) struct Work<'a> {
    pub(super) job: Uuid,
    pub(super) attempt: &'a AttemptKey,
    pub(super) document: &'a str,
    /// An earlier attempt performed the outside write.
    pub(super) performed: bool,
    /// When the attempt has taken too long.
    pub(super) deadline: Instant,
}

/// Why an attempt comes to an end before its commit.
enum Halt {
    /// It failed, or was ended on request.
    End(Ending),
    /// It failed against a dependency, which may be to blame.
    Dependency(Dependency, Ending),
    /// Nobody knows whether the outside service did it.
    Unknown {
        why: String,
        /// Nothing was answered at all, which may be an outage.
        silent: bool,
    },
    /// Somebody judged it: it may do nothing more.
    Superseded,
}

/// Either the step's yield, or a halt. A database that only a person can mend stays apart.
type Progress<T> = Result<Result<T, Halt>, StoreError>;

macro_rules! advance {
    ($progress:expr) => {
        match $progress? {
            Ok(value) => value,
            Err(halt) => return Ok(Err(halt)),
        }
    };
}

impl Worker {
    /// Carries a started attempt to its end; says what its receipt is worth.
    pub(super) async fn work(&self, work: &Work<'_>) -> Result<Receipt, StoreError> {
        let halt = match self.run(work).await? {
            Ok(()) => return Ok(Receipt::Delete),
            Err(halt) => halt,
        };
        let attempt = work.attempt;
        match halt {
            Halt::End(ending) => {
                tracing::warn!(job = %work.job, "{}: {}", ending.reason, ending.diagnostics);
                self.store
                    .insist(|| self.store.end_attempt(attempt, &ending))
                    .await?;
                let stopped = ending.state == "stopped";
                let after = if stopped && defect!("stop-hides-for-hours") {
                    Duration::from_hours(10)
                } else if stopped {
                    Duration::ZERO
                } else {
                    self.backoff(attempt)
                };
                if stopped && defect!("not-given-back-at-a-stop") {
                    return Ok(Receipt::LeaveAlone);
                }
                Ok(Receipt::Release(after))
            }
            Halt::Dependency(dependency, ending) => {
                tracing::warn!(job = %work.job, "{}: {}", ending.reason, ending.diagnostics);
                let blame = self.blame(attempt, dependency, Some(&ending)).await?;
                let outage = blame == Blame::Outage;
                let after = if outage {
                    Duration::ZERO
                } else {
                    self.backoff(attempt)
                };
                Ok(Receipt::Release(after))
            }
            Halt::Unknown { why, silent } => {
                tracing::warn!(job = %work.job, "outcome unknown: {why}");
                self.store
                    .insist(|| self.store.write_unknown(attempt, work.job, &why))
                    .await?;
                if silent {
                    self.blame(attempt, Dependency::Outside, None).await?;
                }
                Ok(Receipt::Release(Duration::ZERO))
            }
            Halt::Superseded => {
                tracing::warn!(job = %work.job, "superseded");
                let ending = ending("superseded", false, "another attempt was faster", "");
                self.store
                    .insist(|| self.store.end_attempt(attempt, &ending))
                    .await?;
                Ok(Receipt::LeaveAlone)
            }
        }
    }

    /// Records a failure against a dependency, after a look at its health.
    async fn blame(
        &self,
        attempt: &AttemptKey,
        dependency: Dependency,
        ending: Option<&Ending>,
    ) -> Result<Blame, StoreError> {
        let ill = !defect!("probe-does-not-confirm") && !self.probes.is_well(dependency).await;
        let enough = self.settings.outage_after;
        let store = &self.store;
        let blame = store
            .insist(|| store.fail_on_dependency(attempt, dependency, ending, ill, enough))
            .await?;
        if blame == Blame::Outage {
            tracing::warn!("outage of the {}: the fleet is paused", dependency.name());
        }
        Ok(blame)
    }

    async fn run(&self, work: &Work<'_>) -> Progress<()> {
        let text = advance!(self.text_in_time(work).await);
        if !work.performed {
            advance!(self.write_outside(work, &text).await);
        }
        self.commit(work, &text).await
    }

    /// The part that may be given up: nothing of it can be seen from outside.
    async fn text_in_time(&self, work: &Work<'_>) -> Progress<String> {
        tokio::select! {
            biased;
            () = self.grace_over.cancelled() => {
                Ok(Err(Halt::End(ending("stopped", false, "its owner was asked to stop", ""))))
            }
            () = tokio::time::sleep_until(work.deadline), if !defect!("deadline-ignored") => {
                let counted = !defect!("time-outs-not-counted");
                Ok(Err(Halt::End(ending("failed", counted, "timed out", ""))))
            }
            text = self.text(work) => text,
        }
    }

    async fn text(&self, work: &Work<'_>) -> Progress<String> {
        let document = match self.documents.read(work.document).await {
            Ok(document) => document,
            Err(error) => {
                let said = error.to_string();
                let halt = match error {
                    DocumentError::Unwell(_) if defect!("read-failure-is-the-messages") => {
                        failed("document unreadable", &said)
                    }
                    DocumentError::Unwell(_) => Halt::Dependency(
                        Dependency::DocumentStore,
                        ending("failed", true, "dependency: document store", &said),
                    ),
                    DocumentError::Throttled if defect!("throttled-read-counted") => {
                        failed("throttled: document store", &said)
                    }
                    DocumentError::Throttled => {
                        Halt::End(ending("failed", false, "throttled: document store", &said))
                    }
                    DocumentError::Refused(_) => failed("document refused", &said),
                };
                return Ok(Err(halt));
            }
        };
        advance!(
            self.step(|| self.store.enter_processing(work.attempt))
                .await
        );
        self.checkpoint
            .reached("processing", Some(work.job), &work.attempt.message_id)
            .await;
        let parsed =
            tokio::task::spawn_blocking(move || extract(&document.media_type, &document.content));
        Ok(match parsed.await {
            Ok(Ok(_)) if defect!("text-invented") => {
                Ok("Nothing in this document harms a parser. So it is said.".into())
            }
            Ok(Ok(text)) if defect!("text-without-its-end") => Ok(text.chars().take(45).collect()),
            Ok(Ok(text)) => Ok(text),
            Ok(Err(_)) if defect!("malformed-has-an-empty-text") => Ok(String::new()),
            Ok(Err(error)) if defect!("malformed-not-counted") => Err(Halt::End(ending(
                "failed",
                false,
                "malformed document",
                &error.to_string(),
            ))),
            Ok(Err(error)) if defect!("malformed-blamed-on-the-store") => Err(Halt::Dependency(
                Dependency::DocumentStore,
                ending("failed", true, "malformed document", &error.to_string()),
            )),
            Ok(Err(error)) => Err(failed("malformed document", &error.to_string())),
            Err(panic) => Err(failed("parser panicked", &panic.to_string())),
        })
    }

    /// Writes to the outside service, once. The intent is durable before the request
    /// leaves; from then on the attempt is not given up before its answer is recorded.
    async fn write_outside(&self, work: &Work<'_>, text: &str) -> Progress<()> {
        let (attempt, job) = (work.attempt, work.job);
        let characters = text.chars().count();
        if defect!("asked-before-its-intent") {
            self.outside.notify(job, work.document, characters).await;
        }
        advance!(
            self.step(|| self.store.intend_write(attempt, job, text))
                .await
        );
        let answer = self.outside.notify(job, work.document, characters).await;
        let (known, said) = match &answer {
            Answer::Performed(said) => (Known::Performed, said),
            Answer::NotPerformed(said) | Answer::Throttled(said) | Answer::Refused(said) => {
                (Known::NotPerformed, said)
            }
            Answer::Unknown { why, silent } => {
                let (why, silent) = (why.clone(), *silent);
                return Ok(Err(Halt::Unknown { why, silent }));
            }
        };
        let recorded = self
            .step(|| self.store.write_answered(attempt, job, known, said))
            .await?;
        if let Err(halt) = recorded {
            if defect!("late-answer-forgotten") {
                return Ok(Err(halt));
            }
            let late = format!("late answer, {known:?}: {said}");
            self.store
                .insist(|| self.store.keep_evidence(attempt, job, &late))
                .await?;
            return Ok(Err(halt));
        }
        Ok(match answer {
            Answer::Performed(_) => Ok(()),
            Answer::Throttled(said) if defect!("throttling-is-an-outage") => Err(Halt::Dependency(
                Dependency::Outside,
                ending("failed", false, "throttled: outside service", &said),
            )),
            Answer::Throttled(said) => Err(Halt::End(ending(
                "failed",
                defect!("throttling-counted"),
                "throttled: outside service",
                &said,
            ))),
            Answer::NotPerformed(said) => Err(Halt::Dependency(
                Dependency::Outside,
                ending("failed", true, "dependency: outside service", &said),
            )),
            Answer::Refused(said) if defect!("refused-write-not-counted") => Err(Halt::End(
                ending("failed", false, "refused by the outside service", &said),
            )),
            Answer::Refused(said) | Answer::Unknown { why: said, .. } => {
                Err(failed("refused by the outside service", &said))
            }
        })
    }

    async fn commit(&self, work: &Work<'_>, text: &str) -> Progress<()> {
        let mut repeated = false;
        self.step(|| {
            let look_first =
                std::mem::replace(&mut repeated, true) && !defect!("lost-commit-not-looked-up");
            self.store
                .commit_result(work.attempt, work.job, text, look_first)
        })
        .await
    }

    /// Takes a durable step that only a living owner may take. With the lock or the lease
    /// lost it waits until this process has reported back.
    async fn step<F>(&self, mut take: impl FnMut() -> F) -> Progress<()>
    where
        F: Future<Output = Result<Step, StoreError>>,
    {
        loop {
            match self.store.insist(&mut take).await? {
                Step::Taken => return Ok(Ok(())),
                Step::Superseded => return Ok(Err(Halt::Superseded)),
                Step::NotNow => self.keeper.report_back().await,
            }
        }
    }
}

fn failed(reason: &'static str, diagnostics: &str) -> Halt {
    Halt::End(ending("failed", true, reason, diagnostics))
}

fn ending(state: &'static str, counted: bool, reason: &'static str, diagnostics: &str) -> Ending {
    Ending {
        state,
        counted,
        reason,
        diagnostics: diagnostics.to_owned(),
    }
}
