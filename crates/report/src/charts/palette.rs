//! Colours that people with any kind of colour vision can tell apart (after Okabe and Ito, "Color universal design",
//! 2008), darkened or lightened until lines of them contrast at least 3:1 with the page.

/// On white.
pub(crate) const ON_LIGHT: [&str; 8] =
    ["#0072b2", "#d55e00", "#008060", "#b0568f", "#8a6a00", "#2b8cc4", "#5b4bb5", "#4d4d4d"];

/// On the dark page.
pub(crate) const ON_DARK: [&str; 8] =
    ["#5aa9e6", "#ff8c42", "#35c79a", "#e69ac4", "#e6c229", "#9ad7f5", "#a99cf0", "#c8c8c8"];

/// A platform's colour on white; the ninth platform has the first colour again, with another marker.
pub(crate) fn on_light(platform: usize) -> &'static str {
    ON_LIGHT[platform % ON_LIGHT.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn luminance(hex: &str) -> f64 {
        let channel = |range| {
            let value = f64::from(u8::from_str_radix(&hex[range], 16).unwrap()) / 255.0;
            if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(1..3) + 0.7152 * channel(3..5) + 0.0722 * channel(5..7)
    }

    fn contrast(a: &str, b: &str) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn lines_stand_out_from_the_page() {
        for (colours, page) in [(ON_LIGHT, "#ffffff"), (ON_DARK, "#1b2027")] {
            for colour in colours {
                assert!(contrast(colour, page) >= 3.0, "{colour} on {page}: {}", contrast(colour, page));
            }
        }
    }
}
