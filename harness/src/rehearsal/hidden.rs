//! For how long a message may stay hidden.

use super::dependencies::Dependencies;
use crate::ids::DependencyName;
use crate::manifest::{Manifest, Protocol};

/// What SQS hides for where nothing is said.
const DEFAULT: u64 = 30;

impl Dependencies {
    /// For how many seconds a message of this queue may stay hidden from all after its
    /// owner is gone: its own visibility, or as long as the manifest allows.
    pub(super) fn hides(
        &self,
        manifest: &Manifest,
        dependency: &DependencyName,
        queue: &str,
    ) -> Option<u64> {
        let own = &self.queues.get(dependency)?.queues;
        let (name, _) = own.iter().find(|(_, own)| own.name == queue)?;
        let Protocol::Sqs { queues } = &manifest.dependencies.get(dependency)?.protocol else {
            return None;
        };
        let lookup = |name: &str| self.settings().get(name).cloned();
        let visibility = match queues.get(name)?.attributes.get("VisibilityTimeout") {
            Some(written) => written.render(&lookup).ok()?.trim().parse().ok()?,
            None => DEFAULT,
        };
        let allowed = manifest.limits.hidden.map_or(0, |hidden| hidden.as_secs());
        Some(allowed.max(visibility))
    }
}
