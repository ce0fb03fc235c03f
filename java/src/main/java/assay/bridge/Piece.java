package assay.bridge;

import java.nio.ByteBuffer;
import site.ycsb.ByteIterator;

/** A value that is part of an array, read without another copy. */
public final class Piece extends ByteIterator {
  private final byte[] array;
  private final int begin;
  private final int end;
  private int at;

  /** The whole array, which belongs to the piece from now on. */
  public Piece(byte[] array) {
    this(array, 0, array.length);
  }

  /** {@code length} bytes of an array that nobody changes any more. */
  public Piece(byte[] array, int begin, int length) {
    this.array = array;
    this.begin = begin;
    this.end = begin + length;
    this.at = begin;
  }

  @Override
  public boolean hasNext() {
    return at < end;
  }

  @Override
  public byte nextByte() {
    return array[at++];
  }

  @Override
  public int nextBuf(byte[] into, int from) {
    int length = Math.min(into.length - from, end - at);
    System.arraycopy(array, at, into, from, length);
    at += length;
    return from + length;
  }

  @Override
  public long bytesLeft() {
    return end - at;
  }

  @Override
  public void reset() {
    at = begin;
  }

  /** What has not been read; the array itself if that is all of it. */
  @Override
  public byte[] toArray() {
    int from = at;
    at = end;
    if (from == 0 && end == array.length) {
      return array;
    }
    byte[] rest = new byte[end - from];
    System.arraycopy(array, from, rest, 0, rest.length);
    return rest;
  }

  /** Appends what has not been read. */
  void write(ByteBuffer into) {
    into.put(array, at, end - at);
    at = end;
  }
}
