#include "decoder.h"

int decode_object(struct text json, struct arena *a, struct object_view *ret, struct err *err)
{
        static const struct decoder_field table[] = {{"metadata", decoder_meta, 0}, {0}};
        static const struct decoder_kind kind = {"object", sizeof *ret, table};
        return decoder_view(&kind, json, a, ret, NULL, err);
}

/* --- identity --- */

static int decode_hex_digit(char c)
{
        return c >= '0' && c <= '9'   ? c - '0'
               : c >= 'a' && c <= 'f' ? c - 'a' + 10
               : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                      : -1;
}

static bool uid_parse(struct text uid, uint8_t out[static UID_BYTES])
{
        size_t at = 0;
        if (uid.len != 36)
                return false;
        for (size_t i = 0; i < uid.len; i++) {
                bool dash = i == 8 || i == 13 || i == 18 || i == 23;
                if (dash != (uid.p[i] == '-'))
                        return false;
                if (dash)
                        continue;
                int high = decode_hex_digit(uid.p[i]), low = decode_hex_digit(uid.p[i + 1]);
                if (high < 0 || low < 0)
                        return false;
                out[at++] = (uint8_t)(high << 4 | low);
                i++;
        }
        return true;
}

static bool decode_all_zero(const uint8_t id[static UID_BYTES])
{
        for (int i = 0; i < UID_BYTES; i++)
                if (id[i])
                        return false;
        return true;
}

/* FNV-1a from two start values. The hash must be the same in every process, because it is stored. */
static void uid_hash(struct text uid, uint8_t out[static UID_BYTES])
{
        uint64_t half[2] = {UINT64_C(0xcbf29ce484222325), UINT64_C(0x84222325cbf29ce4)};
        for (int h = 0; h < 2; h++) {
                for (size_t i = 0; i < uid.len; i++)
                        half[h] = (half[h] ^ (uint8_t)uid.p[i]) * UINT64_C(0x100000001b3);
                for (int i = 0; i < 8; i++)
                        out[8 * h + i] = (uint8_t)(half[h] >> (8 * i));
        }
}

void uid_bytes(struct text uid, uint8_t out[static UID_BYTES])
{
        if (uid_parse(uid, out) && !decode_all_zero(out))
                return;
        uid_hash(uid, out);
        if (decode_all_zero(out))
                out[0] = 1;
}
