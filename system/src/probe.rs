//! Health probes: one GET that neither receives nor writes anything.

use std::time::Duration;

use crate::documents::base;
use crate::store::dependencies::Dependency;

/// Asks dependencies whether they are well.
pub(crate) struct Probes {
    client: reqwest::Client,
    document_store: reqwest::Url,
    outside: reqwest::Url,
}

impl Probes {
    /// Probes `path` of both dependencies; an answer that takes longer than `timeout` is
    /// none.
    pub(crate) fn new(
        document_store: &str,
        outside: &str,
        path: &str,
        timeout: Duration,
    ) -> Result<Self, String> {
        let at = |url: &str| {
            let mut url = base(url)?;
            let segments = path.split('/').filter(|segment| !segment.is_empty());
            url.path_segments_mut()
                .expect("checked by `base`")
                .pop_if_empty()
                .extend(segments);
            Ok::<_, String>(url)
        };
        let client = reqwest::Client::builder()
            .no_proxy()
            .http1_only()
            .pool_max_idle_per_host(0)
            .retry(reqwest::retry::never())
            .redirect(reqwest::redirect::Policy::none())
            .timeout(timeout)
            .build()
            .map_err(crate::text)?;
        Ok(Self {
            client,
            document_store: at(document_store)?,
            outside: at(outside)?,
        })
    }

    /// Whether it answers, with anything but a server's error.
    pub(crate) async fn is_well(&self, dependency: Dependency) -> bool {
        let url = match dependency {
            Dependency::DocumentStore => &self.document_store,
            Dependency::Outside => &self.outside,
        };
        if defect!("probe-writes") && dependency == Dependency::Outside {
            let mut write = url.clone();
            write.set_path("/notifications");
            let _ = self.client.post(write).send().await;
        }
        match self.client.get(url.clone()).send().await {
            Ok(_) if defect!("ill-probe-taken-for-well") => true,
            Ok(answer) => !answer.status().is_server_error(),
            Err(_) => false,
        }
    }
}
