//! Whom calls concern, whatever their protocol: which ids stand in them, and which stages
//! they pass.

use crate::ids::DependencyName;
use crate::manifest::{Manifest, Pattern, Stage};
use crate::stage::{QueueNames, Subject};
use crate::tap::{Call, Reply, Request};

/// The wire that a call is made on, as the manifest knows it.
#[derive(Clone, Copy)]
pub(crate) struct Wire<'a> {
    pub(crate) manifest: &'a Manifest,
    pub(crate) dependency: &'a DependencyName,
    pub(crate) queues: QueueNames<'a>,
}

/// Whom a request concerns.
pub(crate) trait Concerns {
    /// The ids that it carries, whatever stage it belongs to.
    fn ids(&self, manifest: &Manifest, dependency: &DependencyName) -> Vec<String>;

    /// The values that stand together in it: in each row, in each message, in a request.
    fn together(&self, manifest: &Manifest, dependency: &DependencyName) -> Vec<Vec<String>>;

    /// Whom it concerns before its dependency got it: one subject for each part of it.
    fn concerned(&self, manifest: &Manifest, dependency: &DependencyName) -> Vec<Subject>;

    /// Whom it concerned now that its effect took place; none if it handed nothing over.
    fn concerned_after(
        &self,
        manifest: &Manifest,
        dependency: &DependencyName,
        _reply: &Reply,
    ) -> Option<Vec<Subject>> {
        Some(self.concerned(manifest, dependency))
    }

    /// The ids of all that it made durable.
    fn durable_ids(
        &self,
        manifest: &Manifest,
        dependency: &DependencyName,
        _reply: &Reply,
    ) -> Vec<String> {
        self.ids(manifest, dependency)
    }

    /// Whether a pattern of the manifest means it.
    fn matches(&self, wire: Wire<'_>, pattern: &Pattern) -> bool;

    /// One subject for each part of it, with what the stage captures.
    fn subjects(&self, _wire: Wire<'_>, _stage: &Stage) -> Vec<Subject> {
        vec![Subject::default()]
    }

    /// Whom it passes a stage with, before its dependency gets it; none: it does not pass.
    fn passes_before(
        &self,
        wire: Wire<'_>,
        stage: &Stage,
        pattern: &Pattern,
    ) -> Option<Vec<Subject>> {
        // What will be received nobody knows yet: the call itself is what passes.
        let of_nobody = stage.is_nobodys() && pattern.is_receive();
        self.matches(wire, pattern).then(|| {
            if of_nobody {
                vec![Subject::default()]
            } else {
                self.subjects(wire, stage)
            }
        })
    }

    /// Whom it passed a stage with, now that its effect took place; none: it did not pass.
    fn passes_after(
        &self,
        wire: Wire<'_>,
        stage: &Stage,
        pattern: &Pattern,
        _reply: &Reply,
    ) -> Option<Vec<Subject>> {
        let matches = self.matches(wire, pattern);
        matches.then(|| self.subjects(wire, stage))
    }
}

impl Request {
    /// Whom it concerns.
    pub(crate) fn concerns(&self) -> &dyn Concerns {
        match self {
            Self::Http(request) => request,
            Self::Sqs(request) => request,
            Self::Postgres(request) => request,
            Self::Redis(request) => request,
        }
    }
}

impl Call {
    /// The ids that it carries, whatever stage it belongs to.
    pub(crate) fn ids(&self, manifest: &Manifest) -> Vec<String> {
        self.request.concerns().ids(manifest, &self.dependency)
    }

    /// The values that stand together in it.
    pub(crate) fn together(&self, manifest: &Manifest) -> Vec<Vec<String>> {
        self.request.concerns().together(manifest, &self.dependency)
    }

    /// Whom it concerns before its dependency got it.
    pub(crate) fn concerned(&self, manifest: &Manifest) -> Vec<Subject> {
        self.request
            .concerns()
            .concerned(manifest, &self.dependency)
    }

    /// Whom it concerned now that it was answered; none if it had no effect, or handed
    /// nothing over.
    pub(crate) fn concerned_after(
        &self,
        manifest: &Manifest,
        reply: &Reply,
    ) -> Option<Vec<Subject>> {
        let concerns = self.request.concerns();
        let concerned = concerns.concerned_after(manifest, &self.dependency, reply);
        concerned.filter(|_| reply.took_place())
    }

    /// The ids of all that it made durable: a COMMIT stands for its whole transaction.
    pub(crate) fn durable_ids(&self, manifest: &Manifest, reply: &Reply) -> Vec<String> {
        let concerns = self.request.concerns();
        concerns.durable_ids(manifest, &self.dependency, reply)
    }

    /// Whether a pattern of the manifest means it.
    pub(crate) fn is_meant(
        &self,
        pattern: &Pattern,
        manifest: &Manifest,
        queues: QueueNames<'_>,
    ) -> bool {
        self.request
            .concerns()
            .matches(self.wire(manifest, queues), pattern)
    }

    pub(crate) fn wire<'a>(&'a self, manifest: &'a Manifest, queues: QueueNames<'a>) -> Wire<'a> {
        Wire {
            manifest,
            dependency: &self.dependency,
            queues,
        }
    }
}

/// A subject for each list of ids.
pub(crate) fn subjects_of(items: impl Iterator<Item = Vec<String>>) -> Vec<Subject> {
    let subject = |ids| Subject {
        ids,
        ..Subject::default()
    };
    items.map(subject).collect()
}
