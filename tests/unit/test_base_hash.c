/* links: base */
#include "base/hash.h"
#include "base/sha.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* The examples of FIPS 180-4 (csrc.nist.gov, "SHA256.pdf", and the long message of FIPS 180-2).  */
static void sha256_of_the_standard(void **state) {
    (void)state;
    static const struct {
        const char *text, *hex;
    } row[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqr"
         "lmnopqrsmnopqrstnopqrstu",
         "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
    };
    char hex[65];
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        sha256_text(row[i].text, strlen(row[i].text), hex);
        assert_string_equal(hex, row[i].hex);
    }
    Sha256 s;
    sha256_init(&s);
    for (int i = 0; i < 1000000; i++) sha256_add(&s, "a", 1);
    sha256_hex(&s, hex);
    assert_string_equal(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static void sha256_in_pieces_of_every_size(void **state) {
    (void)state;
    char text[300], whole[65], pieces[65];
    for (size_t i = 0; i < sizeof text; i++) text[i] = (char)(i * 7);
    for (size_t len = 0; len <= sizeof text; len++) {
        sha256_text(text, len, whole);
        for (size_t step = 1; step < 130; step += 9) {
            Sha256 s;
            sha256_init(&s);
            for (size_t i = 0; i < len; i += step)
                sha256_add(&s, text + i, len - i < step ? len - i : step);
            sha256_hex(&s, pieces);
            assert_string_equal(pieces, whole);
        }
    }
}

static void hash64_tells_neighbours_apart(void **state) {
    (void)state;
    /* Flipping any bit of the data or the seed flips about half the bits of the hash.  */
    uint8_t data[24] = {1, 2, 3};
    for (size_t len = 1; len <= sizeof data; len++) {
        uint64_t base = hash64(data, len, 5);
        assert_int_equal(base, hash64(data, len, 5));
        for (size_t bit = 0; bit < 8 * len; bit++) {
            data[bit / 8] ^= (uint8_t)(1 << bit % 8);
            int changed = __builtin_popcountll(base ^ hash64(data, len, 5));
            assert_in_range(changed, 10, 54);
            data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
        assert_in_range(__builtin_popcountll(base ^ hash64(data, len, 4)), 10, 54);
    }
    /* Zeros of different lengths differ.  */
    uint8_t zero[32] = {0};
    for (size_t i = 0; i < 32; i++)
        for (size_t j = 0; j < i; j++)
            assert_true(hash64(zero, i, 0) != hash64(zero, j, 0));
}

/* The first values that the reference code (prng.di.unimi.it) gives for seed 1234567.  */
static void rng_is_splitmix64(void **state) {
    (void)state;
    Rng r = {1234567};
    assert_true(rng_next(&r) == 6457827717110365317u);
    assert_true(rng_next(&r) == 3203168211198807973u);
    assert_true(rng_next(&r) == 9817491932198370423u);
    assert_true(rng_next(&r) == 4593380528125082431u);
    assert_true(rng_next(&r) == 16408922859458223821u);
}

static void rng_below_is_uniform(void **state) {
    (void)state;
    Rng r = {7};
    int count[10] = {0};
    for (int i = 0; i < 100000; i++) {
        uint32_t x = rng_below(&r, 10);
        assert_true(x < 10);
        count[x]++;
    }
    for (int i = 0; i < 10; i++) assert_in_range(count[i], 9600, 10400);
    for (int i = 0; i < 100; i++) assert_int_equal(rng_below(&r, 1), 0);
    /* A modulus without rejection would favour the lower half two to one here.  */
    int low = 0;
    for (int i = 0; i < 30000; i++) low += rng_below(&r, 3u << 30) < 3u << 29;
    assert_in_range(low, 14500, 15500);
}

static void rng_normal_has_its_moments(void **state) {
    (void)state;
    Rng r = {3};
    double sum = 0, squares = 0, n = 200000;
    int within = 0;
    for (int i = 0; i < 200000; i++) {
        double x = rng_normal(&r);
        sum += x;
        squares += x * x;
        within += fabs(x) < 1;
    }
    assert_true(fabs(sum / n) < 0.01);
    assert_true(fabs(squares / n - 1) < 0.01);
    assert_in_range(within, 134000, 139000);   /* 68.3 % */
}

/* Test cases 1, 2 and 6 of RFC 4231.  */
static void hmac_of_the_standard(void **state) {
    (void)state;
    uint8_t short_key[20], long_key[131], out[32];
    memset(short_key, 0x0b, sizeof short_key);
    memset(long_key, 0xaa, sizeof long_key);
    const struct {
        const void *key;
        size_t len;
        const char *data, *hex;
    } row[] = {
        {short_key, sizeof short_key, "Hi There",
         "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
        {"Jefe", 4, "what do ya want for nothing?",
         "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
        {long_key, sizeof long_key, "Test Using Larger Than Block-Size Key - Hash Key First",
         "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        hmac_sha256(row[i].key, row[i].len, row[i].data, strlen(row[i].data), out);
        char hex[65] = "";
        for (int k = 0; k < 32; k++) snprintf(hex + 2 * k, 3, "%02x", out[k]);
        assert_string_equal(hex, row[i].hex);
    }
}

/* The processor's own instructions give what the portable form gives.  */
static void both_forms_agree(void **state) {
    (void)state;
    enum { BLOCKS = 9 };
    uint8_t data[64 * BLOCKS];
    Rng rng = {7};
    for (int round = 0; round < 200; round++) {
        uint32_t x[8], y[8], before[8];
        for (size_t i = 0; i < sizeof data; i++) data[i] = (uint8_t)rng_next(&rng);
        for (int i = 0; i < 8; i++) before[i] = x[i] = y[i] = (uint32_t)rng_next(&rng);
        size_t n = rng_below(&rng, BLOCKS + 1);
        sha256_portable(x, data, n);
        if (sha256_blocks(y, data, n)) assert_memory_equal(x, y, sizeof x);
        else assert_memory_equal(y, before, sizeof y);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sha256_of_the_standard),
        cmocka_unit_test(both_forms_agree),
        cmocka_unit_test(sha256_in_pieces_of_every_size),
        cmocka_unit_test(hmac_of_the_standard),
        cmocka_unit_test(hash64_tells_neighbours_apart),
        cmocka_unit_test(rng_is_splitmix64),
        cmocka_unit_test(rng_below_is_uniform),
        cmocka_unit_test(rng_normal_has_its_moments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
