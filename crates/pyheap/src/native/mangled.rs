//! Names of C++ classes for people. Only what type records hold: names, nested names, templates. Of a template's arguments the
//! first is told where it is a class: what a `shared_ptr` counts. What is not understood stays as it is.

/// `N3c1010TensorImplE` as `c10::TensorImpl`.
pub fn readable(mangled: &str) -> String {
    let mut name = String::new();
    let mut rest = Rest(mangled.as_bytes());
    let nested = rest.take(b'N');
    if rest.starts(b"St") {
        rest.skip(2);
        name.push_str("std");
    }
    loop {
        match rest.0.first() {
            Some(b'0'..=b'9') => match rest.identifier() {
                Some(part) => add(&mut name, part),
                None => return mangled.to_string(),
            },
            Some(b'I') => {
                let inside = rest.0;
                if rest.arguments().is_none() {
                    return mangled.to_string();
                }
                if !name.is_empty() {
                    name.push('<');
                    name.push_str(&first_class(inside).unwrap_or_default());
                    name.push('>');
                }
            }
            Some(b'E') if nested && rest.0.len() == 1 => break,
            None if !nested => break,
            _ => return mangled.to_string(),
        }
    }
    if name.is_empty() { mangled.to_string() } else { name }
}

fn add(name: &mut String, part: &str) {
    if !name.is_empty() {
        name.push_str("::");
    }
    name.push_str(part);
}

/// The class that is the first argument in `I...E`, if it is one: `N3c108ListTypeE`, or a pointer to it.
fn first_class(arguments: &[u8]) -> Option<String> {
    let mut rest = Rest(arguments.get(1..)?);
    rest.take(b'P');
    if !rest.take(b'N') {
        return None;
    }
    let mut name = String::new();
    while rest.0.first().is_some_and(u8::is_ascii_digit) {
        add(&mut name, rest.identifier()?);
    }
    rest.take(b'E').then_some(name).filter(|name| !name.is_empty())
}

struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn starts(&self, with: &[u8]) -> bool {
        self.0.starts_with(with)
    }

    fn skip(&mut self, count: usize) {
        self.0 = self.0.get(count..).unwrap_or_default();
    }

    fn take(&mut self, byte: u8) -> bool {
        let is = self.0.first() == Some(&byte);
        self.skip(usize::from(is));
        is
    }

    fn identifier(&mut self) -> Option<&'a str> {
        let digits = self.0.iter().take_while(|b| b.is_ascii_digit()).count();
        let length: usize = std::str::from_utf8(self.0.get(..digits)?).ok()?.parse().ok()?;
        let name = self.0.get(digits..digits.checked_add(length)?)?;
        let name = std::str::from_utf8(name).ok()?;
        self.skip(digits + length);
        Some(if name.starts_with("_GLOBAL__N_") { "(anonymous)" } else { name })
    }

    /// Skips the `L` of a literal, its type and its value, whose digits are no length, up to its `E`.
    fn literal(&mut self) -> Option<()> {
        self.skip(1);
        if self.take(b'N') {
            while self.0.first()?.is_ascii_digit() {
                self.identifier()?;
            }
            self.take(b'E').then_some(())?;
        }
        let end = self.0.iter().position(|&b| b == b'E')?;
        self.skip(end);
        Some(())
    }

    /// Skips `I...E` with all that it nests.
    fn arguments(&mut self) -> Option<()> {
        let mut depth = 0;
        loop {
            match self.0.first()? {
                b'0'..=b'9' => {
                    self.identifier()?;
                    continue;
                }
                b'I' | b'N' | b'F' | b'X' | b'J' => depth += 1,
                b'E' => depth -= 1,
                b'L' => self.literal()?,
                // What was said before: `S_`, `S1_`; or `St`, `Sa` and the like.
                b'S' | b'T' => {
                    let marks = self.0.iter().skip(1).take_while(|b| b.is_ascii_digit() || b.is_ascii_uppercase()).count();
                    self.skip(marks + 1);
                }
                _ => {}
            }
            self.skip(1);
            if depth == 0 {
                return Some(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_for_people() {
        for (mangled, name) in [
            ("N3c1010TensorImplE", "c10::TensorImpl"),
            ("N5torch8autograd9generated14AddmmBackward0E", "torch::autograd::generated::AddmmBackward0"),
            ("7Foreign", "Foreign"),
            ("St9exception", "std::exception"),
            ("NSt6thread11_State_implINS_8_InvokerISt5tupleIJPFvvEEEEEEE", "std::thread::_State_impl<>"),
            ("N3foo3barIiLi12EE3bazE", "foo::bar<>::baz"),
            (
                "St23_Sp_counted_ptr_inplaceIN5torch3jit8OperatorESaIvELN9__gnu_cxx12_Lock_policyE2EE",
                "std::_Sp_counted_ptr_inplace<torch::jit::Operator>",
            ),
            ("St15_Sp_counted_ptrIPN3c108ListTypeELN9__gnu_cxx12_Lock_policyE2EE", "std::_Sp_counted_ptr<c10::ListType>"),
            ("N12_GLOBAL__N_13FooE", "(anonymous)::Foo"),
        ] {
            assert_eq!(readable(mangled), name);
        }
    }

    #[test]
    fn what_is_not_understood_stays() {
        for odd in ["", "N", "N3c10", "i", "99999999999999999999x", "N5torchIE", "NSt", "9abc", "3fooILN", "3fooIL", "3fooI"] {
            assert_eq!(readable(odd), odd);
        }
    }
}
