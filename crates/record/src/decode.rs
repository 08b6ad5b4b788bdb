//! Bytes to events. Knows no files: bytes come in as they come, events come out.

use lowtide_model::Event;
use serde::de::DeserializeOwned;

use crate::format::{Kind, MAX_PAYLOAD, keep_time};
use crate::frame::{self, Front, MAX_PREFIX};
use crate::tick::TickCodec;
use crate::varint;

/// What could not be read of a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// Stretches of bytes that are no frames, and frames that make no sense.
    pub places: u64,
    /// Bytes skipped in them.
    pub bytes: u64,
    /// Where the first of them is, in bytes from the start of the file.
    pub first_at: u64,
    /// Ticks that were left out since the tick they refer to was damaged.
    pub lost_ticks: u64,
}

/// One frame, or the lack of it.
#[derive(Debug)]
pub(crate) enum Step<'a> {
    /// A whole frame.
    Frame { kind: u8, payload: &'a [u8], after_damage: bool },
    /// More bytes are needed to go on. If there are none, this is a torn tail (or the end, if nothing is left).
    More,
    /// The bytes here are no frame. [`Frames::skip_damage`] goes on behind them.
    Damaged,
}

/// Bytes that a search for the next frame may checksum in all. Only bytes made to look like frames can use that up.
const SEARCH_BUDGET: u64 = 1 << 30;

/// Cuts a stream of bytes into frames.
#[derive(Debug)]
pub(crate) struct Frames {
    buf: Vec<u8>,
    start: usize,
    /// Where `buf[start]` is in the file.
    offset: u64,
    after_damage: bool,
    budget: u64,
    pub(crate) damage: Damage,
}

impl Frames {
    /// Frames from the byte `offset` of a file on.
    pub(crate) fn at(offset: u64) -> Self {
        Self { buf: Vec::new(), start: 0, offset, after_damage: false, budget: SEARCH_BUDGET, damage: Damage::default() }
    }

    /// Where the next frame begins in the file.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Bytes taken in and not yet handed out.
    pub(crate) fn left(&self) -> usize {
        self.buf.len() - self.start
    }

    /// Takes in the bytes that follow in the file.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        self.buf.drain(..self.start);
        self.start = 0;
        self.buf.extend_from_slice(bytes);
    }

    /// Forgets bytes taken in and not handed out; they are to be fed again.
    pub(crate) fn unfeed(&mut self) {
        self.buf.clear();
        self.start = 0;
    }

    /// The next frame.
    pub(crate) fn step(&mut self) -> Step<'_> {
        let start = self.start;
        // The length first, so that the borrow of the payload can be made again for the caller.
        let len = match frame::front(&self.buf[start..]) {
            Front::Whole { len, .. } => len,
            Front::Part => return Step::More,
            Front::Damaged => return Step::Damaged,
        };
        self.advance(len);
        let after_damage = std::mem::take(&mut self.after_damage);
        match frame::parts(&self.buf[start..start + len]) {
            Some((kind, payload)) => Step::Frame { kind, payload, after_damage },
            None => Step::Damaged,
        }
    }

    /// Goes to the next frame behind damaged bytes, or, where none is in sight, behind all bytes that cannot begin one. With `ended`,
    /// no more bytes will come. False where nothing could be skipped: feed more, or stop if there are no more.
    pub(crate) fn skip_damage(&mut self, ended: bool) -> bool {
        let bytes = &self.buf[self.start..];
        let found = frame::find(bytes, &mut self.budget);
        let skipped = match found {
            Some(at) => at,
            // Bytes at the end may begin a frame whose rest is not here yet.
            None if !ended => bytes.len().saturating_sub(MAX_PAYLOAD + MAX_PREFIX),
            None => 0,
        };
        if skipped > 0 {
            self.note_damage(skipped as u64);
            self.advance(skipped);
        }
        skipped > 0
    }

    /// Counts a frame whose checksum fits and whose content makes no sense.
    pub(crate) fn note_bad_frame(&mut self) {
        self.note_damage(0);
    }

    fn note_damage(&mut self, bytes: u64) {
        if self.damage.places == 0 {
            self.damage.first_at = self.offset;
        }
        // A search that goes on does not make a new place.
        self.damage.places += u64::from(!self.after_damage);
        self.damage.bytes += bytes;
        self.after_damage = true;
    }

    fn advance(&mut self, len: usize) {
        self.start += len;
        self.offset += len as u64;
    }
}

/// What a frame means.
#[derive(Debug, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "there is one at a time, and nearly all are events")]
pub(crate) enum Meaning {
    /// An event.
    Event(Event),
    /// Nothing to this version, or nothing that can be told (a tick whose predecessor is damaged).
    Nothing,
    /// It makes no sense.
    Bad,
}

/// Turns frames into events.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    codec: TickCodec,
    have_key: bool,
    /// Events of the run before the next frame, thinned ones included.
    pub(crate) ordinal: u64,
    /// Events that compaction left out.
    pub(crate) thinned: u64,
    pub(crate) lost_ticks: u64,
}

impl Decoder {
    pub(crate) fn frame(&mut self, kind: u8, payload: &[u8], after_damage: bool) -> Meaning {
        self.have_key &= !after_damage;
        let Some(kind) = Kind::of(kind) else { return Meaning::Nothing };
        if kind == Kind::Thinned {
            return self.thinned(payload);
        }
        let meaning = self.event(kind, payload);
        self.ordinal = self.ordinal.saturating_add(1);
        meaning
    }

    fn thinned(&mut self, mut payload: &[u8]) -> Meaning {
        let Ok(count) = varint::take(&mut payload) else { return Meaning::Bad };
        self.ordinal = self.ordinal.saturating_add(count);
        self.thinned = self.thinned.saturating_add(count);
        Meaning::Nothing
    }

    fn event(&mut self, kind: Kind, payload: &[u8]) -> Meaning {
        match kind {
            Kind::Start => json(payload, Event::Start),
            Kind::Process => json(payload, |process: lowtide_model::Process| {
                Event::Process(lowtide_model::Process { start_s: keep_time(process.start_s), ..process })
            }),
            Kind::Exit => {
                json(payload, |exit: lowtide_model::Exit| Event::Exit(lowtide_model::Exit { t_s: keep_time(exit.t_s), ..exit }))
            }
            Kind::Cgroup => json(payload, Event::Cgroup),
            Kind::Gpu => json(payload, Event::Gpu),
            Kind::GpuUser => json(payload, Event::GpuUser),
            Kind::Mark => {
                json(payload, |mark: lowtide_model::Mark| Event::Mark(lowtide_model::Mark { t_s: keep_time(mark.t_s), ..mark }))
            }
            Kind::Look => {
                json(payload, |look: lowtide_model::Look| Event::Look(lowtide_model::Look { t_s: keep_time(look.t_s), ..look }))
            }
            Kind::Note => {
                json(payload, |note: lowtide_model::Note| Event::Note(lowtide_model::Note { t_s: keep_time(note.t_s), ..note }))
            }
            Kind::Cost => json(payload, |cost: lowtide_model::WatchCost| {
                Event::Cost(lowtide_model::WatchCost { t_s: keep_time(cost.t_s), ..cost })
            }),
            Kind::End => {
                json(payload, |end: lowtide_model::RunEnd| Event::End(lowtide_model::RunEnd { t_s: keep_time(end.t_s), ..end }))
            }
            Kind::KeyTick => self.key_tick(payload),
            Kind::Tick => self.delta_tick(payload),
            Kind::Thinned => Meaning::Nothing,
        }
    }

    fn key_tick(&mut self, payload: &[u8]) -> Meaning {
        let Ok((ordinal, tick)) = self.codec.take_key(payload) else {
            self.have_key = false;
            return Meaning::Bad;
        };
        self.have_key = true;
        // Damage may have hidden some events; the key tick knows how many there were.
        self.ordinal = ordinal;
        Meaning::Event(Event::Tick(tick))
    }

    fn delta_tick(&mut self, payload: &[u8]) -> Meaning {
        if !self.have_key {
            self.lost_ticks += 1;
            return Meaning::Nothing;
        }
        match self.codec.take_delta(payload) {
            Ok(tick) => Meaning::Event(Event::Tick(tick)),
            Err(varint::Malformed) => {
                self.have_key = false;
                Meaning::Bad
            }
        }
    }
}

fn json<T: DeserializeOwned>(payload: &[u8], event: impl FnOnce(T) -> Event) -> Meaning {
    serde_json::from_slice(payload).map_or(Meaning::Bad, |value| Meaning::Event(event(value)))
}
