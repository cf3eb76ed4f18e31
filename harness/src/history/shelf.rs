//! Writes contents that are too long for a line, each to a file of its own, beside the path
//! that calls take.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// How many contents may wait to be written before whoever adds one waits too.
const WAITING: usize = 256;

/// Where long contents go.
pub(super) struct Shelf {
    work: SyncSender<Work>,
    trouble: Arc<Mutex<Option<io::Error>>>,
}

enum Work {
    Write {
        name: String,
        content: Vec<u8>,
    },
    /// Tell once all that came before is written.
    Tell(SyncSender<()>),
}

impl Shelf {
    /// A shelf in this directory, which is made when something is to stand there.
    pub(super) fn new(directory: &Path) -> io::Result<Self> {
        let (work, waiting) = mpsc::sync_channel(WAITING);
        let trouble = Arc::new(Mutex::new(None));
        let (directory, told) = (directory.to_owned(), Arc::clone(&trouble));
        thread::Builder::new()
            .name("contents".to_owned())
            .spawn(move || serve(&directory, &waiting, &told))?;
        Ok(Self { work, trouble })
    }

    pub(super) fn put(&self, name: String, content: Vec<u8>) {
        // The thread ends after this.
        let _ = self.work.send(Work::Write { name, content });
    }

    /// Returns once everything is written, and says what could not be.
    pub(super) fn trouble(&self) -> Option<String> {
        let (tell, told) = mpsc::sync_channel(1);
        if self.work.send(Work::Tell(tell)).is_ok() {
            let _ = told.recv();
        }
        let trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        trouble.as_ref().map(ToString::to_string)
    }
}

fn serve(directory: &PathBuf, waiting: &Receiver<Work>, trouble: &Mutex<Option<io::Error>>) {
    for work in waiting {
        match work {
            Work::Write { name, content } => {
                let written = fs::create_dir_all(directory)
                    .and_then(|()| fs::write(directory.join(name), content));
                if let Err(error) = written {
                    let mut trouble = trouble.lock().unwrap_or_else(PoisonError::into_inner);
                    trouble.get_or_insert(error);
                }
            }
            Work::Tell(tell) => {
                let _ = tell.send(());
            }
        }
    }
}
