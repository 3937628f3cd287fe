//! Plain tests of the whole binary, and guards over the source tree. Nothing here needs Go, root or a network.

mod it {
    mod access;
    mod archives;
    mod audited;
    mod checks;
    mod collect;
    mod connections;
    mod contexts;
    mod corpora;
    mod coverage;
    mod credentials;
    mod declared;
    mod errors;
    mod forwarded;
    mod growing;
    mod guard;
    mod incarnations;
    #[path = "../live/lacking.rs"]
    #[expect(dead_code, reason = "the live trials read more of it")]
    mod lacking;
    mod layers;
    mod layouts;
    mod levels;
    mod logged;
    mod many;
    mod mended;
    mod plugin;
    mod preflight;
    mod probe;
    mod readme;
    mod recorded;
    mod refusals;
    mod reports;
    mod repository;
    mod requirements;
    #[path = "../live/rows.rs"]
    #[expect(dead_code, reason = "the live trials read more of it")]
    mod rows;
    mod several;
    mod signals;
    mod skew;
    mod templates;
    mod waiting;
    mod watch;
    mod wrapped;
}
