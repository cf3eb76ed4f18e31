//! What a command and its answer hold for each message that they may be about.

use bytes::Bytes;

use super::command::Command;
use super::value::Value;

/// One part of a command, or one element of an answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Part {
    pub(crate) keys: Vec<Bytes>,
    /// Elements, members, arguments.
    pub(crate) texts: Vec<Bytes>,
    /// Fields of a hash or of a stream's entry.
    pub(crate) fields: Vec<(Bytes, Bytes)>,
    /// The entry of a stream.
    pub(crate) entry: Option<Bytes>,
}

/// One element that an answer hands over.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Element {
    /// Where it waited.
    pub(crate) key: Bytes,
    pub(crate) text: Bytes,
    pub(crate) entry: Option<Bytes>,
    pub(crate) fields: Vec<(Bytes, Bytes)>,
}

impl Command {
    /// What it says by itself, one part for each message that it may be about. Of what it
    /// receives nothing is known before it is answered.
    pub(crate) fn parts(&self) -> Vec<Part> {
        if self.is_receive() {
            return match self.name.as_str() {
                "XCLAIM" => self.entries(4),
                _ => Vec::new(),
            };
        }
        let keys: Vec<Bytes> = self.keys().into_iter().cloned().collect();
        let values: Vec<Bytes> = self.values().into_iter().cloned().collect();
        let each = |texts: Vec<Bytes>| -> Vec<Part> {
            let part = |text| Part {
                keys: keys.clone(),
                texts: vec![text],
                ..Part::default()
            };
            texts.into_iter().map(part).collect()
        };
        match self.name.as_str() {
            "LPUSH" | "RPUSH" | "LPUSHX" | "RPUSHX" | "SADD" | "SREM" | "ZREM" => each(values),
            "ZADD" => each(
                self.scored()
                    .into_iter()
                    .map(|(member, _)| member)
                    .collect(),
            ),
            "XACK" => self.entries(2),
            "XDEL" => self.entries(1),
            "DEL" | "UNLINK" => keys
                .iter()
                .map(|key| Part {
                    keys: vec![key.clone()],
                    ..Part::default()
                })
                .collect(),
            "HSET" | "HMSET" => vec![Part {
                fields: pairs(values.iter().cloned()),
                keys,
                ..Part::default()
            }],
            "XADD" => vec![Part {
                fields: self.added().map(|(_, fields)| fields).unwrap_or_default(),
                keys,
                ..Part::default()
            }],
            _ => vec![Part {
                keys,
                texts: values,
                ..Part::default()
            }],
        }
    }

    fn entries(&self, from: usize) -> Vec<Part> {
        let ids = self.arguments.iter().skip(from);
        ids.map_while(|id| {
            let is_id = id.contains(&b'-') || id.iter().all(u8::is_ascii_digit);
            is_id.then(|| Part {
                keys: self.arguments.first().cloned().into_iter().collect(),
                entry: Some(id.clone()),
                ..Part::default()
            })
        })
        .collect()
    }

    /// The members of a ZADD with their scores.
    pub(crate) fn scored(&self) -> Vec<(Bytes, f64)> {
        let is_option = |word: &Bytes| {
            ["NX", "XX", "GT", "LT", "CH", "INCR"]
                .iter()
                .any(|option| word.eq_ignore_ascii_case(option.as_bytes()))
        };
        let rest = self
            .arguments
            .iter()
            .skip(1)
            .skip_while(|word| is_option(word));
        let pairs = pairs(rest.cloned());
        let score = |text: &Bytes| std::str::from_utf8(text).ok()?.parse().ok();
        pairs
            .into_iter()
            .map(|(at, member)| (member, score(&at).unwrap_or_default()))
            .collect()
    }

    /// The id that an XADD asks for, and its fields.
    pub(crate) fn added(&self) -> Option<(Bytes, Vec<(Bytes, Bytes)>)> {
        let mut at = 1;
        loop {
            match self.word(at)?.as_str() {
                "NOMKSTREAM" => at += 1,
                "MAXLEN" | "MINID" => {
                    at += 1;
                    if matches!(self.word(at)?.as_str(), "=" | "~") {
                        at += 1;
                    }
                    at += 1;
                    if self.word(at)? == "LIMIT" {
                        at += 2;
                    }
                }
                _ => break,
            }
        }
        let id = self.arguments.get(at)?.clone();
        Some((id, pairs(self.arguments.iter().skip(at + 1).cloned())))
    }

    /// What its answer hands over, if it is a command that receives.
    pub(crate) fn received(&self, answer: &Value) -> Vec<Element> {
        let key = self
            .keys()
            .first()
            .map(|key| (*key).clone())
            .unwrap_or_default();
        let plain = |key: &Bytes, value: &Value| {
            Some(Element {
                key: key.clone(),
                text: value.text()?.clone(),
                ..Element::default()
            })
        };
        let every = |key: &Bytes, value: &Value| -> Vec<Element> {
            match value {
                Value::List(items) => items.iter().filter_map(|item| plain(key, item)).collect(),
                value => plain(key, value).into_iter().collect(),
            }
        };
        let named = |items: &[Value]| items.first().and_then(Value::text).cloned();
        match self.name.as_str() {
            "LPOP" | "RPOP" | "RPOPLPUSH" | "BRPOPLPUSH" | "LMOVE" | "BLMOVE" | "SPOP" => {
                every(&key, answer)
            }
            "BLPOP" | "BRPOP" | "BZPOPMIN" | "BZPOPMAX" => match answer.items() {
                [_, element, ..] => {
                    let key = named(answer.items()).unwrap_or_default();
                    plain(&key, element).into_iter().collect()
                }
                _ => Vec::new(),
            },
            "LMPOP" | "BLMPOP" => match answer.items() {
                [_, elements] => every(&named(answer.items()).unwrap_or_default(), elements),
                _ => Vec::new(),
            },
            "ZPOPMIN" | "ZPOPMAX" => members(answer)
                .iter()
                .filter_map(|member| plain(&key, member))
                .collect(),
            "ZMPOP" | "BZMPOP" => match answer.items() {
                [_, elements] => {
                    let key = named(answer.items()).unwrap_or_default();
                    let members = members(elements);
                    members
                        .iter()
                        .filter_map(|member| plain(&key, member))
                        .collect()
                }
                _ => Vec::new(),
            },
            "XREADGROUP" => of_streams(answer),
            "XCLAIM" => of_entries(&key, answer),
            "XAUTOCLAIM" => match answer.items() {
                [_, entries, ..] => of_entries(&key, entries),
                _ => Vec::new(),
            },
            _ => Vec::new(),
        }
    }
}

/// Members of an answer that lists them with their scores, as pairs or one after the other.
fn members(answer: &Value) -> Vec<Value> {
    match answer.items().first() {
        Some(Value::List(_)) => {
            let pairs = answer.items().iter();
            pairs
                .filter_map(|pair| pair.items().first().cloned())
                .collect()
        }
        _ => answer.items().iter().step_by(2).cloned().collect(),
    }
}

fn of_streams(answer: &Value) -> Vec<Element> {
    let streams: Vec<(&Value, &Value)> = match answer {
        Value::Map(pairs) => pairs.iter().map(|(key, value)| (key, value)).collect(),
        _ => answer
            .items()
            .iter()
            .filter_map(|stream| match stream.items() {
                [key, entries] => Some((key, entries)),
                _ => None,
            })
            .collect(),
    };
    streams
        .into_iter()
        .flat_map(|(key, entries)| match key.text() {
            Some(key) => of_entries(key, entries),
            None => Vec::new(),
        })
        .collect()
}

fn of_entries(key: &Bytes, entries: &Value) -> Vec<Element> {
    let entries = entries.items().iter();
    entries
        .filter_map(|entry| {
            let (id, fields) = match entry {
                Value::List(parts) => match parts.as_slice() {
                    // What was deleted meanwhile has no fields.
                    [id, Value::List(fields)] => (id.text()?, fields.as_slice()),
                    _ => return None,
                },
                id => (id.text()?, &[][..]),
            };
            let fields = pairs(fields.iter().filter_map(|field| field.text().cloned()));
            Some(Element {
                key: key.clone(),
                text: Bytes::new(),
                entry: Some(id.clone()),
                fields,
            })
        })
        .collect()
}

impl From<Element> for Part {
    fn from(element: Element) -> Self {
        let texts = if element.entry.is_none() {
            vec![element.text]
        } else {
            Vec::new()
        };
        Self {
            keys: vec![element.key],
            texts,
            fields: element.fields,
            entry: element.entry,
        }
    }
}

fn pairs(items: impl Iterator<Item = Bytes>) -> Vec<(Bytes, Bytes)> {
    let items: Vec<Bytes> = items.collect();
    let pairs = items.chunks_exact(2);
    pairs
        .map(|pair| (pair[0].clone(), pair[1].clone()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(line: &str) -> Command {
        let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        Command::new(&words)
    }

    fn text(text: &str) -> Value {
        Value::Text(Bytes::copy_from_slice(text.as_bytes()))
    }

    fn list(items: &[Value]) -> Value {
        Value::List(items.to_vec())
    }

    fn received(line: &str, answer: &Value) -> Vec<(String, String)> {
        let shown = |bytes: &Bytes| String::from_utf8_lossy(bytes).into_owned();
        let elements = command(line).received(answer).into_iter();
        elements
            .map(|element| {
                let what = element.entry.as_ref().unwrap_or(&element.text);
                (shown(&element.key), shown(what))
            })
            .collect()
    }

    fn pair(one: &str, other: &str) -> (String, String) {
        (one.to_owned(), other.to_owned())
    }

    #[test]
    fn what_an_answer_hands_over_stands_where_each_command_has_it() {
        let (a, b) = (text("a"), text("b"));
        assert_eq!(received("LPOP jobs", &a), [pair("jobs", "a")]);
        let two = [pair("jobs", "a"), pair("jobs", "b")];
        assert_eq!(received("RPOP jobs 2", &list(&[a.clone(), b.clone()])), two);
        assert_eq!(
            received("BLPOP x jobs 0", &list(&[text("jobs"), a.clone()])),
            two[..1]
        );
        assert_eq!(received("BLMOVE jobs p LEFT LEFT 0", &a), two[..1]);
        assert_eq!(received("BLPOP jobs 1", &Value::Null), []);
        let popped = list(&[text("jobs"), list(&[a.clone(), b.clone()])]);
        assert_eq!(received("LMPOP 1 jobs LEFT COUNT 2", &popped), two);
        let flat = list(&[a.clone(), text("1"), b.clone(), text("2")]);
        assert_eq!(received("ZPOPMIN jobs 2", &flat), two);
        let nested = list(&[list(&[a.clone(), text("1")]), list(&[b, text("2")])]);
        assert_eq!(received("ZPOPMIN jobs 2", &nested), two);
        assert_eq!(
            received("ZMPOP 1 jobs MIN", &list(&[text("jobs"), nested])),
            two
        );
        let entry = list(&[text("1-0"), list(&[text("job"), a])]);
        let streams = list(&[list(&[text("s"), list(std::slice::from_ref(&entry))])]);
        let line = "XREADGROUP GROUP g c STREAMS s >";
        assert_eq!(received(line, &streams), [pair("s", "1-0")]);
        let map = Value::Map(vec![(text("s"), list(std::slice::from_ref(&entry)))]);
        assert_eq!(received(line, &map), [pair("s", "1-0")]);
        let claimed = list(&[text("0-0"), list(&[entry]), list(&[])]);
        assert_eq!(
            received("XAUTOCLAIM s g c 0 0", &claimed),
            [pair("s", "1-0")]
        );
        assert_eq!(
            received("XCLAIM s g c 0 1-0 JUSTID", &list(&[text("1-0")])),
            [pair("s", "1-0")]
        );
    }

    #[test]
    fn a_command_with_several_elements_has_several_parts() {
        assert_eq!(command("LPUSH jobs a b").parts().len(), 2);
        assert_eq!(command("ZADD jobs NX CH 1 a 2 b").scored().len(), 2);
        assert_eq!(command("DEL a b").parts().len(), 2);
        assert_eq!(command("XACK s g 1-0 2-0").parts().len(), 2);
        assert_eq!(command("HSET h a 1 b 2").parts()[0].fields.len(), 2);
        assert_eq!(command("XCLAIM s g c 0 1-0 IDLE 5").parts().len(), 1);
        assert_eq!(command("BLPOP jobs 0").parts(), []);
        let (id, fields) = command("XADD s MAXLEN ~ 100 LIMIT 5 * job 7")
            .added()
            .unwrap();
        assert_eq!((id.as_ref(), fields.len()), (&b"*"[..], 1));
        assert_eq!(command("XADD s *").added().unwrap().1, []);
    }
}
