//! Command lines of `--name value` and `--flag`, and durations such as `50ms`.

use std::collections::BTreeMap;

/// The arguments by name, taken one by one; what is left over is unknown.
#[derive(Debug)]
pub struct Args {
    values: BTreeMap<String, String>,
    flags: Vec<String>,
}

impl Args {
    /// Splits `--name value`; the names in `flags` stand alone.
    pub fn parse(args: impl Iterator<Item = String>, flags: &[&str]) -> Result<Self, String> {
        let (mut args, mut this) = (args, Self { values: BTreeMap::new(), flags: Vec::new() });
        while let Some(name) = args.next() {
            let Some(name) = name.strip_prefix("--") else {
                return Err(format!("unexpected argument `{name}`"));
            };
            if flags.contains(&name) {
                this.flags.push(name.to_owned());
            } else {
                let value = args.next().ok_or_else(|| format!("--{name} needs a value"))?;
                this.values.insert(name.to_owned(), value);
            }
        }
        Ok(this)
    }

    /// Whether the flag was given.
    pub fn flag(&mut self, name: &str) -> bool {
        let before = self.flags.len();
        self.flags.retain(|flag| flag != name);
        self.flags.len() < before
    }

    /// The value as text.
    pub fn text(&mut self, name: &str) -> Option<String> {
        self.values.remove(name)
    }

    /// The value as a whole number.
    pub fn count(&mut self, name: &str, default: u64) -> Result<u64, String> {
        let Some(value) = self.text(name) else { return Ok(default) };
        value.parse().map_err(|_| format!("--{name}: `{value}` is not a whole number"))
    }

    /// The value as a duration in nanoseconds.
    pub fn duration(&mut self, name: &str) -> Result<Option<u64>, String> {
        let Some(value) = self.text(name) else { return Ok(None) };
        duration(&value)
            .map(Some)
            .ok_or_else(|| format!("--{name}: `{value}` is no duration, such as 50ms, 20us or 2s"))
    }

    /// To be called last: complains of what nobody asked for.
    pub fn finish(self) -> Result<(), String> {
        match self.values.keys().chain(&self.flags).next() {
            Some(name) => Err(format!("unknown option --{name}")),
            None => Ok(()),
        }
    }
}

fn duration(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let unit = match &text[digits..] {
        "ns" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => return None,
    };
    let ns = (text[..digits].parse::<f64>().ok()? * unit).round();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked: within 0 and a day")]
    (0.0..=86_400e9).contains(&ns).then_some(ns as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        assert_eq!(duration("50ms"), Some(50_000_000));
        assert_eq!(duration("0.5ms"), Some(500_000));
        assert_eq!(duration("2s"), Some(2_000_000_000));
        for bad in ["5", "ms", "-1s", "1h", "1.2.3s", ""] {
            assert_eq!(duration(bad), None, "{bad}");
        }
    }

    #[test]
    fn unknown_options_are_refused() {
        let args = ["--itl", "10ms", "--unpaced", "--typo", "1"].map(String::from);
        let mut args = Args::parse(args.into_iter(), &["unpaced"]).expect("well formed");
        assert!(args.flag("unpaced"));
        assert_eq!(args.duration("itl"), Ok(Some(10_000_000)));
        assert_eq!(args.finish(), Err("unknown option --typo".into()));
    }
}
