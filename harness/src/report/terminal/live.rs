//! The live view: what runs now, how much is done, and how long the rest may take by
//! experience.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use console::truncate_str;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::experience::Experience;
use super::paint::Paint;
use super::screen::Screen;
use crate::gherkin::{Exit, ScenarioId, ScenarioInfo};

/// How many running scenarios are shown.
const SHOWN: usize = 10;
/// How many of those that did not pass are named.
const NAMED: usize = 3;
/// How much of a scenario's name is shown, so that its step is seen too.
const NAME: usize = 36;

pub(super) struct Live {
    bars: MultiProgress,
    whole: ProgressBar,
    /// How many more run than are shown: no line where it is none.
    more: Option<ProgressBar>,
    running: BTreeMap<ScenarioId, Now>,
    paint: Paint,
    experience: Experience,
    jobs: usize,
    expected: Vec<Option<Duration>>,
    ended: Vec<bool>,
    not_passed: Vec<String>,
}

/// What a scenario does now.
struct Now {
    since: Instant,
    name: String,
    step: String,
    note: String,
    bar: Option<ProgressBar>,
}

impl Now {
    fn show(&self) {
        let Some(bar) = &self.bar else { return };
        let note = match self.note.as_str() {
            "" => String::new(),
            note => format!(" · {note}"),
        };
        bar.set_message(format!(
            "▸ {:>3} s  {}: {}{note}",
            self.since.elapsed().as_secs(),
            truncate_str(&self.name, NAME, "…"),
            self.step
        ));
    }
}

fn line() -> ProgressStyle {
    ProgressStyle::with_template("{wide_msg}").expect("the template is right")
}

impl Live {
    pub(super) fn new<W: Write + Send + 'static>(screen: Screen<W>, paint: Paint) -> Self {
        let target = ProgressDrawTarget::term_like_with_hz(Box::new(screen), 10);
        let bars = MultiProgress::with_draw_target(target);
        let whole = bars.add(ProgressBar::new(0).with_style(line()));
        Self {
            bars,
            whole,
            more: None,
            running: BTreeMap::new(),
            paint,
            experience: Experience::default(),
            jobs: 1,
            expected: Vec::new(),
            ended: Vec::new(),
            not_passed: Vec::new(),
        }
    }

    pub(super) fn begin(
        &mut self,
        scenarios: &[Arc<ScenarioInfo>],
        jobs: usize,
        experience: Experience,
    ) {
        self.expected = scenarios.iter().map(|one| experience.of(one)).collect();
        self.ended = vec![false; scenarios.len()];
        self.experience = experience;
        self.jobs = jobs.max(1);
        let style = ProgressStyle::with_template("{pos} of {len} {bar:24} {wide_msg}");
        let style = style.expect("the template is right").progress_chars("━╸ ");
        self.whole.set_style(style);
        self.whole.set_length(scenarios.len() as u64);
        self.tick();
    }

    pub(super) fn note(&mut self, text: &str) {
        self.whole.set_message(text.to_owned());
    }

    pub(super) fn started(&mut self, scenario: ScenarioId, info: &ScenarioInfo) {
        let shown = self
            .running
            .values()
            .filter(|now| now.bar.is_some())
            .count();
        let now = Now {
            since: Instant::now(),
            name: info.name.clone(),
            step: "opening".to_owned(),
            note: String::new(),
            bar: (shown < SHOWN).then(|| self.bar()),
        };
        now.show();
        self.running.insert(scenario, now);
        self.tick();
    }

    fn bar(&self) -> ProgressBar {
        let bar = ProgressBar::new(0).with_style(line());
        let below = self.more.as_ref().unwrap_or(&self.whole);
        self.bars.insert_before(below, bar)
    }

    /// A step began: nothing is remarked of it yet.
    pub(super) fn step(&mut self, scenario: ScenarioId, text: &str) {
        if let Some(now) = self.running.get_mut(&scenario) {
            text.clone_into(&mut now.step);
            now.note.clear();
            now.show();
        }
    }

    pub(super) fn remark(&mut self, scenario: ScenarioId, text: &str) {
        if let Some(now) = self.running.get_mut(&scenario) {
            text.clone_into(&mut now.note);
            now.show();
        }
    }

    pub(super) fn ended(&mut self, scenario: ScenarioId, info: &ScenarioInfo, verdict: Exit) {
        if let Some(now) = self.running.remove(&scenario) {
            self.experience.add(info, now.since.elapsed());
            if let Some(bar) = now.bar {
                self.bars.remove(&bar);
            }
        }
        if let Some(ended) = self.ended.get_mut(scenario.0) {
            *ended = true;
        }
        if verdict != Exit::Passed {
            self.not_passed.push(info.selector());
        }
        self.whole.inc(1);
        // One that had no line gets the one that is free now.
        let free = self
            .running
            .values()
            .filter(|now| now.bar.is_some())
            .count()
            < SHOWN;
        if let Some(waiting) = self.running.iter().find(|(_, now)| now.bar.is_none())
            && free
        {
            let waiting = *waiting.0;
            let bar = self.bar();
            if let Some(now) = self.running.get_mut(&waiting) {
                now.bar = Some(bar);
                now.show();
            }
        }
        self.tick();
    }

    /// Shows the time that passes.
    pub(super) fn tick(&mut self) {
        for now in self.running.values() {
            now.show();
        }
        let hidden = self
            .running
            .values()
            .filter(|now| now.bar.is_none())
            .count();
        if hidden == 0 {
            if let Some(more) = self.more.take() {
                self.bars.remove(&more);
            }
        } else {
            let more = self.more.get_or_insert_with(|| {
                let bar = ProgressBar::new(0).with_style(line());
                self.bars.insert_before(&self.whole, bar)
            });
            more.set_message(format!("  and {hidden} more"));
        }
        if !self.ended.is_empty() && (!self.running.is_empty() || self.whole.position() > 0) {
            let message = [self.failures(), self.rest()].into_iter().flatten();
            let message = message.collect::<Vec<_>>().join(" · ");
            self.whole.set_message(message);
        }
    }

    fn failures(&self) -> Option<String> {
        let count = self.not_passed.len();
        if count == 0 {
            return None;
        }
        let latest: Vec<&str> = self
            .not_passed
            .iter()
            .rev()
            .take(NAMED)
            .map(|place| place.rsplit('/').next().unwrap_or(place))
            .collect();
        let text = format!("{count} not passed ({})", latest.join(", "));
        Some(self.paint.verdict(Exit::Failed, &text))
    }

    /// How long the rest may take by what it took before.
    fn rest(&self) -> Option<String> {
        let usual = self.experience.usual()?;
        let mut left = Duration::ZERO;
        for (number, expected) in self.expected.iter().enumerate() {
            if self.ended.get(number) == Some(&true) {
                continue;
            }
            let spent = self
                .running
                .get(&ScenarioId(number))
                .map(|now| now.since.elapsed());
            left += expected
                .unwrap_or(usual)
                .saturating_sub(spent.unwrap_or_default());
        }
        let side = u32::try_from(self.jobs).unwrap_or(1);
        let seconds = (left / side).as_secs();
        Some(match seconds {
            0 => return None,
            1..60 => format!("about {seconds} s left"),
            _ => format!("about {} min left", seconds.div_ceil(60)),
        })
    }

    /// Takes the view away while something is written that stays.
    pub(super) fn aside<T>(&self, write: impl FnOnce() -> T) -> T {
        self.bars.suspend(write)
    }

    /// Takes the view away for good.
    pub(super) fn end(&mut self) {
        for now in self.running.values() {
            if let Some(bar) = &now.bar {
                self.bars.remove(bar);
            }
        }
        if let Some(more) = self.more.take() {
            self.bars.remove(&more);
        }
        self.bars.remove(&self.whole);
        // There is nothing left to be seen; what cannot be written to is gone anyway.
        let _ = self.bars.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Mutex;

    use super::*;

    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn info(number: usize) -> Arc<ScenarioInfo> {
        Arc::new(ScenarioInfo {
            id: ScenarioId(number),
            path: "features/a.feature".to_owned(),
            feature: "F".to_owned(),
            rule: None,
            name: format!(
                "a scenario with a name that goes on for a very long time, number {number}"
            ),
            line: number + 2,
            tags: Vec::new(),
            seed: 1,
            repetition: None,
        })
    }

    /// The lines that stand on a terminal after these bytes.
    fn shown(bytes: &[u8]) -> Vec<String> {
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        let (mut lines, mut row, mut column) = (vec![String::new()], 0_usize, 0_usize);
        let mut rest = text.as_str();
        while let Some(first) = rest.chars().next() {
            if let Some(sequence) = rest.strip_prefix("\u{1b}[") {
                let end = sequence.find(|c: char| c.is_ascii_alphabetic()).unwrap();
                let count = sequence[..end].parse().unwrap_or(1);
                match sequence.as_bytes()[end] {
                    b'A' => row = row.checked_sub(count).expect("above the screen"),
                    b'B' => row += count,
                    b'K' if &sequence[..end] == "2" => lines[row].clear(),
                    b'K' => lines[row] = lines[row].chars().take(column).collect(),
                    b'J' => lines.truncate(row + 1),
                    _ => {}
                }
                rest = &sequence[end + 1..];
            } else {
                match first {
                    '\r' => column = 0,
                    '\n' => row += 1,
                    letter => {
                        let mut line: Vec<char> = lines[row].chars().collect();
                        line.resize(line.len().max(column + 1), ' ');
                        line[column] = letter;
                        lines[row] = line.into_iter().collect();
                        column += 1;
                    }
                }
                rest = &rest[first.len_utf8()..];
            }
            lines.resize(lines.len().max(row + 1), String::new());
        }
        lines
    }

    #[test]
    fn what_stands_above_the_view_stays_however_often_it_is_drawn() {
        // With lines to spare, and with more that run than are shown.
        for count in [2, 14] {
            let kept = Kept::default();
            let screen = Screen::new(kept.clone(), || Some(100));
            let mut live = Live::new(screen, Paint { colour: false });
            let infos: Vec<_> = (0..count).map(info).collect();
            let write = |text: &str| kept.clone().write_all(text.as_bytes()).unwrap();
            write("the run\r\n");
            live.begin(&infos, count, Experience::default());
            for (number, info) in infos.iter().enumerate() {
                live.started(ScenarioId(number), info);
            }
            for (number, info) in infos.iter().enumerate() {
                live.step(ScenarioId(number), "When all messages are submitted");
                for _ in 0..3 {
                    live.tick();
                    live.aside(|| ());
                }
                live.ended(ScenarioId(number), info, Exit::Failed);
                live.aside(|| write(&format!("ended {number}\r\n")));
            }
            live.end();
            let seen = shown(&kept.0.lock().unwrap());
            let mut seen = seen.iter().map(|line| line.trim_end());
            assert_eq!(seen.next(), Some("the run"));
            for number in 0..count {
                assert_eq!(seen.next(), Some(format!("ended {number}").as_str()));
            }
            assert!(seen.all(str::is_empty), "the view is taken away");
        }
    }

    #[test]
    fn the_view_fits_a_small_terminal_tells_what_failed_and_is_taken_away() {
        let kept = Kept::default();
        let screen = Screen::new(kept.clone(), || Some(200));
        let mut live = Live::new(screen, Paint { colour: false });
        let infos: Vec<_> = (0..14).map(info).collect();
        live.begin(&infos, 14, Experience::default());
        for (number, info) in infos.iter().enumerate() {
            live.started(ScenarioId(number), info);
        }
        live.step(ScenarioId(0), "When all messages are submitted");
        assert_eq!(
            live.running
                .values()
                .filter(|now| now.bar.is_some())
                .count(),
            SHOWN
        );
        live.ended(ScenarioId(0), &infos[0], Exit::Passed);
        live.ended(ScenarioId(1), &infos[1], Exit::Failed);
        assert_eq!(live.whole.message(), "1 not passed (a.feature:3)");
        assert_eq!(
            live.running
                .values()
                .filter(|now| now.bar.is_some())
                .count(),
            SHOWN
        );
        live.aside(|| kept.clone().write_all(b"a line that stays\r\n"))
            .unwrap();
        live.end();
        let seen = String::from_utf8(kept.0.lock().unwrap().clone()).unwrap();
        let widest = seen
            .split(['\r', '\n'])
            .map(console::measure_text_width)
            .max();
        assert!(widest <= Some(79), "{widest:?}");
        assert!(seen.contains("number 0") || seen.contains("▸"), "{seen}");
        assert!(!seen.split("\r\n").last().unwrap().contains('▸'), "{seen}");
    }
}
