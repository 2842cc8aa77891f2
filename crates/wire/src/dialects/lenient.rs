//! Reading JSON that may hold anything anywhere: a seed says what it makes of the shapes it knows, and every other
//! shape is passed over and counts as absent. Nothing a server puts in an unexpected place makes the rest unreadable.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// What to make of a value, by its shape. Each default passes it over.
pub(crate) trait Lenient<'de>: Sized {
    /// What it makes; its default stands for absent.
    type Out: Default;

    /// A string.
    fn text(self, _: &str) -> Self::Out {
        Self::Out::default()
    }

    /// A string that stands in the input as it is, without an escape.
    fn verbatim_text(self, text: &'de str) -> Self::Out {
        self.text(text)
    }

    /// A number.
    fn number(self, _: f64) -> Self::Out {
        Self::Out::default()
    }

    /// `true` or `false`.
    fn flag(self, _: bool) -> Self::Out {
        Self::Out::default()
    }

    /// An array.
    fn array<A: SeqAccess<'de>>(self, mut array: A) -> Result<Self::Out, A::Error> {
        while array.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Self::Out::default())
    }

    /// An object.
    fn object<A: MapAccess<'de>>(self, mut object: A) -> Result<Self::Out, A::Error> {
        while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Self::Out::default())
    }
}

/// Makes a [`Lenient`] a seed.
pub(crate) struct Any<T>(pub(crate) T);

impl<'de, T: Lenient<'de>> DeserializeSeed<'de> for Any<T> {
    type Value = T::Out;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T::Out, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, T: Lenient<'de>> Visitor<'de> for Any<T> {
    type Value = T::Out;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<T::Out, E> {
        Ok(T::Out::default())
    }

    fn visit_bool<E>(self, flag: bool) -> Result<T::Out, E> {
        Ok(self.0.flag(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<T::Out, E> {
        Ok(self.0.number(number as f64))
    }

    fn visit_u64<E>(self, number: u64) -> Result<T::Out, E> {
        Ok(self.0.number(number as f64))
    }

    fn visit_f64<E>(self, number: f64) -> Result<T::Out, E> {
        Ok(self.0.number(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<T::Out, E> {
        Ok(self.0.text(text))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<T::Out, E> {
        Ok(self.0.verbatim_text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, array: A) -> Result<T::Out, A::Error> {
        self.0.array(array)
    }

    fn visit_map<A: MapAccess<'de>>(self, object: A) -> Result<T::Out, A::Error> {
        self.0.object(object)
    }
}

/// How many elements an array has; absent for anything else.
pub(crate) struct Count;

impl<'de> Lenient<'de> for Count {
    type Out = Option<u32>;

    fn array<A: SeqAccess<'de>>(self, mut array: A) -> Result<Option<u32>, A::Error> {
        let mut n = 0_u32;
        while array.next_element::<IgnoredAny>()?.is_some() {
            n = n.saturating_add(1);
        }
        Ok(Some(n))
    }
}

/// A count: a whole number that is not negative, as a number; absent for anything else.
pub(crate) struct Whole;

impl Lenient<'_> for Whole {
    type Out = Option<u64>;

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be whole and in range")]
    fn number(self, number: f64) -> Option<u64> {
        (number.fract() == 0.0 && (0.0..9e15).contains(&number)).then_some(number as u64)
    }
}

/// A number that is finite and not negative.
pub(crate) struct Amount;

impl Lenient<'_> for Amount {
    type Out = Option<f64>;

    fn number(self, number: f64) -> Option<f64> {
        (number.is_finite() && number >= 0.0).then_some(number)
    }
}

/// `true` for what a programmer would call true: not null, false, 0, `""`, `[]` or `{}`.
pub(crate) struct Truth;

impl<'de> Lenient<'de> for Truth {
    type Out = bool;

    fn text(self, text: &str) -> bool {
        !text.is_empty()
    }

    fn number(self, number: f64) -> bool {
        number != 0.0
    }

    fn flag(self, flag: bool) -> bool {
        flag
    }

    fn array<A: SeqAccess<'de>>(self, mut array: A) -> Result<bool, A::Error> {
        let mut any = false;
        while array.next_element::<IgnoredAny>()?.is_some() {
            any = true;
        }
        Ok(any)
    }

    fn object<A: MapAccess<'de>>(self, mut object: A) -> Result<bool, A::Error> {
        let mut any = false;
        while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
            any = true;
        }
        Ok(any)
    }
}

/// `true` for exactly this string.
pub(crate) struct IsWord(pub(crate) &'static str);

impl Lenient<'_> for IsWord {
    type Out = bool;

    fn text(self, text: &str) -> bool {
        text == self.0
    }
}

/// A string that is not empty.
pub(crate) struct Word;

impl Lenient<'_> for Word {
    type Out = Option<String>;

    fn text(self, text: &str) -> Option<String> {
        (!text.is_empty()).then(|| text.to_owned())
    }
}
