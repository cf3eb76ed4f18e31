//! What a statement does: not what it defines or explains, and where that begins to which its
//! command tag belongs.

use super::lexer::Token;

/// What a statement defines or explains and does not do.
#[derive(Default)]
pub(super) struct Definition {
    words: usize,
    kind: Defines,
    depth: usize,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Defines {
    #[default]
    Nothing,
    /// `CREATE`, and what may stand before the kind of thing.
    Something,
    Routine,
    View,
    Rule,
    Prepared,
    Explained,
}

impl Definition {
    /// Whether what follows `token` is not done.
    pub(super) fn ends_with<'a>(
        &mut self,
        token: Token<'a>,
        rest: &mut impl Iterator<Item = Token<'a>>,
    ) -> bool {
        self.words += 1;
        match token {
            Token::Sign("(") => self.depth += 1,
            Token::Sign(")") => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        if self.words == 1 {
            self.kind = match token {
                token if token.is("create") => Defines::Something,
                token if token.is("prepare") => Defines::Prepared,
                token if token.is("explain") => Defines::Explained,
                _ => Defines::Nothing,
            };
            return self.kind == Defines::Explained && !executes(rest);
        }
        match self.kind {
            Defines::Something => {
                self.kind = match token {
                    token if token.is("or") || token.is("replace") => Defines::Something,
                    token if token.is("function") || token.is("procedure") => Defines::Routine,
                    token
                        if ["view", "temp", "temporary", "recursive"]
                            .iter()
                            .any(|word| token.is(word)) =>
                    {
                        Defines::View
                    }
                    token if token.is("rule") => Defines::Rule,
                    _ => Defines::Nothing,
                };
                false
            }
            // A table may be temporary too, and is filled at once.
            Defines::View if self.words == 3 && (token.is("table") || token.is("sequence")) => {
                self.kind = Defines::Nothing;
                false
            }
            Defines::Routine => self.depth == 0 && (token.is("begin") || token.is("return")),
            Defines::View | Defines::Prepared => self.depth == 0 && token.is("as"),
            Defines::Rule => token.is("do"),
            Defines::Nothing | Defines::Explained => false,
        }
    }
}

/// Whether EXPLAIN executes what it explains. Its options are read.
fn executes<'a>(rest: &mut impl Iterator<Item = Token<'a>>) -> bool {
    let asks = |token: Token<'_>| token.is("analyze") || token.is("analyse");
    match rest.next() {
        Some(Token::Sign("(")) => {
            let options: Vec<_> = rest.take_while(|token| !token.is_sign(")")).collect();
            options
                .split(|token| token.is_sign(","))
                .any(|option| match option {
                    [name] => asks(*name),
                    [name, value] => asks(*name) && !is_off(*value),
                    _ => false,
                })
        }
        Some(token) => asks(token),
        None => false,
    }
}

fn is_off(value: Token<'_>) -> bool {
    value.is("off") || value.is("false") || value == Token::Number("0")
}

/// Where the statement behind a `WITH` list begins. Another `WITH` than that of a list
/// stands later in a statement.
#[derive(Default)]
pub(super) struct Main {
    state: Behind,
    depth: usize,
}

#[derive(Default, PartialEq, Eq)]
enum Behind {
    #[default]
    Start,
    /// `CREATE TABLE …`, up to `AS`, or `EXPLAIN …`.
    Before,
    List,
    Main,
}

impl Main {
    pub(super) fn begins_with(&mut self, token: Token<'_>) -> bool {
        match token {
            Token::Sign("(") => self.depth += 1,
            Token::Sign(")") => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        match self.state {
            Behind::Start => {
                self.state = match token {
                    token if token.is("with") => Behind::List,
                    token if token.is("create") || token.is("explain") => Behind::Before,
                    _ => Behind::Main,
                };
            }
            Behind::Before if token.is("with") && self.depth == 0 => self.state = Behind::List,
            Behind::Before | Behind::Main => {}
            Behind::List => {
                let verbs = [
                    "select", "insert", "update", "delete", "merge", "values", "table",
                ];
                if self.depth == 0 && verbs.iter().any(|verb| token.is(verb)) {
                    self.state = Behind::Main;
                    return true;
                }
            }
        }
        false
    }
}
