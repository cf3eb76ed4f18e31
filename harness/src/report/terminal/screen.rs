//! The terminal as the progress bars see it. Each line ends where its text does, so that
//! nothing wraps when the terminal becomes narrower, and is as wide as a small terminal
//! at most.

use std::fmt;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use indicatif::TermLike;

/// No line of the live view is longer.
const WIDEST: usize = 79;

/// What everything is written to.
pub(super) struct Screen<W> {
    to: Arc<Mutex<W>>,
    frame: Arc<Mutex<Frame>>,
    /// How wide the terminal is now.
    width: fn() -> Option<usize>,
}

/// What stands there now.
#[derive(Default)]
struct Frame {
    /// How long each of its lines is.
    lines: Vec<usize>,
    /// Whether the line that was written last is over.
    ended: bool,
}

impl<W> Clone for Screen<W> {
    fn clone(&self) -> Self {
        Self {
            to: Arc::clone(&self.to),
            frame: Arc::clone(&self.frame),
            width: self.width,
        }
    }
}

impl<W> fmt::Debug for Screen<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Screen")
    }
}

impl<W: Write + Send> Screen<W> {
    pub(super) fn new(to: W, width: fn() -> Option<usize>) -> Self {
        Self {
            to: Arc::new(Mutex::new(to)),
            frame: Arc::default(),
            width,
        }
    }

    fn columns(&self) -> usize {
        (self.width)().unwrap_or(80).max(2)
    }

    fn put(&self, text: &str) -> io::Result<()> {
        let mut to = self.to.lock().unwrap_or_else(PoisonError::into_inner);
        to.write_all(text.as_bytes())
    }

    fn with_frame<T>(&self, change: impl FnOnce(&mut Frame) -> T) -> T {
        change(&mut self.frame.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<W: Write + Send> Write for Screen<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut to = self.to.lock().unwrap_or_else(PoisonError::into_inner);
        to.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        TermLike::flush(self)
    }
}

impl<W: Write + Send> TermLike for Screen<W> {
    fn width(&self) -> u16 {
        u16::try_from((self.columns() - 1).min(WIDEST)).unwrap_or(u16::MAX)
    }

    /// To the first line of what stands there: of so many more lines as a terminal that
    /// became narrower made of them.
    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        let columns = self.columns();
        let wrapped = self.with_frame(|frame| {
            let lines = std::mem::take(&mut frame.lines);
            frame.ended = false;
            let more = lines
                .iter()
                .map(|length| length.saturating_sub(1) / columns);
            more.sum::<usize>()
        });
        match n + wrapped {
            0 => self.put("\r"),
            up => self.put(&format!("\x1b[{up}A\r")),
        }?;
        if wrapped > 0 {
            self.put("\x1b[J")
        } else {
            Ok(())
        }
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        if n == 0 {
            Ok(())
        } else {
            self.put(&format!("\x1b[{n}B"))
        }
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        if n == 0 {
            Ok(())
        } else {
            self.put(&format!("\x1b[{n}C"))
        }
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        if n == 0 {
            Ok(())
        } else {
            self.put(&format!("\x1b[{n}D"))
        }
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        self.put(&format!("{text}\x1b[K\r\n"))
    }

    /// A line, or the blanks that fill one up: those are left out.
    fn write_str(&self, text: &str) -> io::Result<()> {
        if text == "\r" {
            return self.put(text);
        }
        let blank = text.bytes().all(|byte| byte == b' ');
        let (filler, line_break) = self.with_frame(|frame| {
            // Nothing, where a line is to begin, is a line with nothing in it.
            let begins = frame.ended || frame.lines.is_empty();
            let filler = blank && !(text.is_empty() && begins);
            let after = frame.ended && !filler;
            if filler {
                frame.ended = true;
            } else {
                frame.lines.push(console::measure_text_width(text));
                frame.ended = false;
            }
            (filler, after)
        });
        match (filler, line_break) {
            (true, _) => self.put("\x1b[K"),
            (false, true) => self.put(&format!("\r\n{text}")),
            (false, false) => self.put(text),
        }
    }

    fn clear_line(&self) -> io::Result<()> {
        self.put("\r\x1b[2K")
    }

    fn flush(&self) -> io::Result<()> {
        let mut to = self.to.lock().unwrap_or_else(PoisonError::into_inner);
        to.flush()
    }
}
