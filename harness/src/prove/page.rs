//! `report.html` of a proof: broken systems × scenarios, who sees what, the score, the time
//! of each try. One file that needs nothing else.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::answer::Answer;
use super::results::{Results, VariantResult};
use super::variant::{Kind, Mark};

const STYLE: &str = "\
:root{color-scheme:light dark;font:14px/1.4 system-ui,sans-serif}\
body{margin:2rem auto;max-width:80rem;padding:0 1rem}\
table{border-collapse:collapse}td,th{padding:.2rem .5rem;text-align:left;vertical-align:top;\
border-bottom:1px solid #8884}\
.matrix td,.matrix th{padding:1px;border:0}.matrix td.n,.matrix th.n{padding-right:.5rem;white-space:nowrap;\
max-width:28rem;overflow:hidden;text-overflow:ellipsis}\
.c{display:inline-block;width:.8rem;height:.8rem;border-radius:2px;background:#8882}\
.seen-by-rule{background:#176b3a}.seen,.decides{background:#35a55f}.late{background:#d79a12}\
.unseen,.decides-nothing{background:#c0392b}.untold{background:#888}\
.wide{overflow-x:auto}small{opacity:.75}";

/// The whole page.
pub(super) fn page(results: &Results) -> String {
    let system = escaped(&results.system);
    let answer = Answer { results };
    let mut page = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\">\
         <title>What the suite of {system} is worth</title><style>{STYLE}</style>\
         <h1>What the suite of {system} is worth</h1><p>{}</p>",
        escaped(answer.summary().trim())
    );
    page += "<p>";
    for mark in Mark::ALL {
        let _ = write!(
            page,
            "<span class=\"c {}\"></span> {mark} &nbsp; ",
            class(mark)
        );
    }
    page += "</p>";
    let columns = columns(results);
    score(&mut page, results);
    worth(&mut page, results, &columns);
    for kind in Kind::ALL {
        matrix(&mut page, results, kind, &columns);
    }
    if !results.unused.is_empty() {
        page += "<h2>What no scenario uses</h2><ul>";
        for (what, names) in &results.unused {
            let _ = write!(
                page,
                "<li>{}: {}</li>",
                escaped(what),
                escaped(&names.join(", "))
            );
        }
        page += "</ul>";
    }
    page += "</html>\n";
    page
}

/// A text as it stands in HTML, also within quotes.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// The scenarios that anything was tried with, numbered in the order of their places.
fn columns(results: &Results) -> BTreeMap<&str, &str> {
    let tried = results.variants.iter().flat_map(|one| &one.tried);
    tried
        .map(|one| (one.scenario.as_str(), one.name.as_str()))
        .collect()
}

fn score(page: &mut String, results: &Results) {
    *page += "<h2>Score</h2><table><tr><th><th>tried<th>by a rule<th>by the suite<th>late<th>gaps\
              <th>not told<th>seconds</tr>";
    for kind in Kind::ALL {
        let of: Vec<&VariantResult> = of(results, kind).collect();
        if of.is_empty() {
            continue;
        }
        let count = |marks: &[Mark]| of.iter().filter(|one| marks.contains(&one.mark)).count();
        let took: f64 = of.iter().map(|one| seconds(one)).sum();
        let _ = write!(
            page,
            "<tr><th>{}<td>{}<td>{}<td>{}<td>{}<td>{}<td>{}<td>{took:.1}</tr>",
            kind.plural(),
            of.len(),
            count(&[Mark::SeenByRule]),
            count(&[Mark::Seen, Mark::Decides]),
            count(&[Mark::Late]),
            count(&[Mark::Unseen, Mark::DecidesNothing]),
            count(&[Mark::Untold]),
        );
    }
    *page += "</table>";
}

/// What each scenario sees of the broken systems, and what nobody else sees.
fn worth(page: &mut String, results: &Results, columns: &BTreeMap<&str, &str>) {
    let mut sees: BTreeMap<&str, (usize, usize, usize)> = BTreeMap::new();
    let broken = results.variants.iter().filter(|one| !one.kind.is_control());
    for variant in broken {
        let by: Vec<&str> = variant
            .tried
            .iter()
            .filter(|one| matches!(one.mark, Mark::SeenByRule | Mark::Seen))
            .map(|one| one.scenario.as_str())
            .collect();
        for tried in &variant.tried {
            let entry = sees.entry(tried.scenario.as_str()).or_default();
            entry.0 += 1;
            entry.1 += usize::from(by.contains(&tried.scenario.as_str()));
            entry.2 += usize::from(by == [tried.scenario.as_str()]);
        }
    }
    if sees.is_empty() {
        return;
    }
    *page +=
        "<h2>Who sees what</h2><table><tr><th>#<th>scenario<th>tried with<th>sees<th>alone</tr>";
    for (number, (scenario, name)) in columns.iter().enumerate() {
        let Some((tried, found, alone)) = sees.get(scenario) else {
            continue;
        };
        let _ = write!(
            page,
            "<tr><td>{}<td>{} <small>{}</small><td>{tried}<td>{found}<td>{alone}</tr>",
            number + 1,
            escaped(name),
            escaped(scenario)
        );
    }
    *page += "</table>";
}

fn matrix(page: &mut String, results: &Results, kind: Kind, columns: &BTreeMap<&str, &str>) {
    let of: Vec<&VariantResult> = of(results, kind).collect();
    if of.is_empty() {
        return;
    }
    // Only the scenarios that anything of this kind was tried with.
    let used: Vec<(usize, &&str)> = columns
        .keys()
        .enumerate()
        .filter(|(_, scenario)| {
            of.iter()
                .any(|one| one.tried.iter().any(|tried| tried.scenario == ***scenario))
        })
        .collect();
    let _ = write!(page, "<h2>{}</h2>", kind.plural());
    if !kind.is_control() {
        *page += "<div class=\"wide\"><table class=\"matrix\"><tr><th class=\"n\">";
        for (number, scenario) in &used {
            let _ = write!(
                page,
                "<th><small title=\"{}\">{}</small>",
                escaped(scenario),
                number + 1
            );
        }
        *page += "</tr>";
        for variant in &of {
            let _ = write!(page, "<tr><td class=\"n\">{}", escaped(&variant.name));
            for (_, scenario) in &used {
                let tried = variant.tried.iter().find(|one| one.scenario == ***scenario);
                let _ = match tried {
                    Some(tried) => write!(
                        page,
                        "<td><span class=\"c {}\" title=\"{}: {}, {:.1} s. {}\"></span>",
                        class(tried.mark),
                        escaped(&tried.name),
                        tried.mark,
                        tried.took.as_secs_f64(),
                        escaped(&tried.words())
                    ),
                    None => write!(page, "<td>"),
                };
            }
            *page += "</tr>";
        }
        *page += "</table></div>";
    }
    *page += "<table><tr><th><th>what<th>by whom, and what was found<th>seconds</tr>";
    for variant in of {
        let found = match (&variant.why, variant.best()) {
            (Some(why), _) => escaped(why),
            (None, Some(best)) => format!(
                "{} <small>{}</small>",
                escaped(&best.scenario),
                escaped(&best.words())
            ),
            (None, None) => String::new(),
        };
        let _ = write!(
            page,
            "<tr><td><span class=\"c {}\" title=\"{}\"></span><td>{}<br><small>{}</small><td>{found}\
             <td>{:.1}</tr>",
            class(variant.mark),
            variant.mark,
            escaped(&variant.name),
            escaped(&variant.what),
            seconds(variant)
        );
    }
    *page += "</table>";
}

fn of(results: &Results, kind: Kind) -> impl Iterator<Item = &VariantResult> {
    let variants = results.variants.iter();
    variants.filter(move |one| one.kind == kind)
}

fn seconds(variant: &VariantResult) -> f64 {
    variant.tried.iter().map(|one| one.took.as_secs_f64()).sum()
}

fn class(mark: Mark) -> &'static str {
    match mark {
        Mark::SeenByRule => "seen-by-rule",
        Mark::Seen => "seen",
        Mark::Late => "late",
        Mark::Unseen => "unseen",
        Mark::Decides => "decides",
        Mark::DecidesNothing => "decides-nothing",
        Mark::Untold => "untold",
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::found::Seen;
    use super::super::results::Tried;
    use super::*;

    #[test]
    fn the_page_tells_who_sees_what_and_escapes_all_of_it() {
        let tried = |scenario: &str, mark, seen| Tried {
            scenario: scenario.to_owned(),
            name: format!("of {scenario}"),
            mark,
            verdict: "failed".to_owned(),
            seen,
            told: None,
            took: Duration::from_millis(1500),
        };
        let seen = Some(Seen::Suite {
            told: "2 > 1 & <b>".to_owned(),
        });
        let results = Results {
            system: "a<b".to_owned(),
            green: 2,
            scenarios: 2,
            shard: None,
            variants: vec![VariantResult {
                kind: Kind::Wire,
                name: "the worker repeats".to_owned(),
                what: "twice".to_owned(),
                mark: Mark::Seen,
                why: None,
                tried: vec![
                    tried("a.feature:3", Mark::Seen, seen),
                    tried("a.feature:9", Mark::Unseen, None),
                ],
            }],
            unused: vec![("stages".to_owned(), vec!["x".to_owned()])],
            took: Duration::from_secs(3),
        };
        let page = page(&results);
        assert!(page.contains("What the suite of a&lt;b is worth"));
        assert!(page.contains("2 &gt; 1 &amp; &lt;b&gt;") && !page.contains("<b>"));
        assert!(
            page.contains("a.feature:3</small><td>1<td>1<td>1"),
            "{page}"
        );
        assert!(
            page.contains("a.feature:9</small><td>1<td>0<td>0"),
            "{page}"
        );
        assert!(page.contains("class=\"c unseen\"") && page.contains("<td>3.0</tr>"));
        assert!(page.contains("stages: x"));
    }
}
