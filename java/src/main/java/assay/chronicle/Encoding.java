package assay.chronicle;

import assay.bridge.Piece;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import site.ycsb.ByteIterator;

/**
 * A record as one array: the number of its fields, then for each the lengths of name and value before these.
 *
 * <p>One instance belongs to one thread: it remembers the names that it has seen, so that reading makes no strings.
 */
final class Encoding {
  private String[] texts = {};
  private byte[][] bytes = {};
  private final Map<String, byte[]> names = new HashMap<>();

  /** A record of these values. */
  byte[] encode(Map<String, ByteIterator> values) {
    Map<String, byte[]> arrays = new LinkedHashMap<>();
    values.forEach((name, value) -> arrays.put(name, value.toArray()));
    return pack(arrays);
  }

  /** The record {@code row} with these values in place of its own, or behind them if they are new. */
  byte[] merge(byte[] row, Map<String, ByteIterator> values) {
    Map<String, byte[]> arrays = new LinkedHashMap<>();
    each(row, null, (name, begin, length) -> arrays.put(name, Arrays.copyOfRange(row, begin, begin + length)));
    values.forEach((name, value) -> arrays.put(name, value.toArray()));
    return pack(arrays);
  }

  /** Puts those fields of {@code row} that are chosen, or all of them, into {@code result}. */
  void decode(byte[] row, Set<String> chosen, Map<String, ByteIterator> result) {
    each(row, chosen, (name, begin, length) -> result.put(name, new Piece(row, begin, length)));
  }

  private interface Visit {
    void field(String name, int begin, int length);
  }

  private void each(byte[] row, Set<String> chosen, Visit visit) {
    ByteBuffer in = ByteBuffer.wrap(row).order(ByteOrder.LITTLE_ENDIAN);
    int count = in.getShort(0) & 0xFFFF;
    int at = 2;
    for (int place = 0; place < count; place++) {
      int nameLength = in.getShort(at) & 0xFFFF;
      int length = in.getInt(at + 2);
      String name = name(row, at + 6, nameLength, place);
      int begin = at + 6 + nameLength;
      if (chosen == null || chosen.contains(name)) {
        visit.field(name, begin, length);
      }
      at = begin + length;
    }
  }

  private byte[] pack(Map<String, byte[]> arrays) {
    int size = 2;
    for (Map.Entry<String, byte[]> field : arrays.entrySet()) {
      size += 6 + bytes(field.getKey()).length + field.getValue().length;
    }
    ByteBuffer out = ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN);
    out.putShort((short) arrays.size());
    for (Map.Entry<String, byte[]> field : arrays.entrySet()) {
      byte[] name = bytes(field.getKey());
      out.putShort((short) name.length);
      out.putInt(field.getValue().length);
      out.put(name);
      out.put(field.getValue());
    }
    return out.array();
  }

  byte[] bytes(String name) {
    return names.computeIfAbsent(name, text -> text.getBytes(StandardCharsets.UTF_8));
  }

  /** The name of the field at {@code place}, which is mostly the one that was there in the record before. */
  private String name(byte[] row, int begin, int length, int place) {
    if (place >= texts.length) {
      texts = Arrays.copyOf(texts, place + 1);
      bytes = Arrays.copyOf(bytes, place + 1);
    }
    byte[] known = bytes[place];
    if (known == null || !Arrays.equals(known, 0, known.length, row, begin, begin + length)) {
      bytes[place] = Arrays.copyOfRange(row, begin, begin + length);
      texts[place] = new String(row, begin, length, StandardCharsets.UTF_8);
    }
    return texts[place];
  }
}
